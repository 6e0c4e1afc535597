import Synchronization

/// Why work was stopped from outside. It is no fault of the item.
public struct CancelledError: Error, Sendable, CustomStringConvertible {
    public init() {}
    public var description: String { "cancelled" }
}

/// A switch that is thrown once. Synchronous work looks at it, since inside a pool there is no current task.
public final class CancellationFlag: Sendable {
    private let raised = Atomic<Bool>(false)

    public init() {}

    public var isCancelled: Bool { raised.load(ordering: .relaxed) }

    public func cancel() { raised.store(true, ordering: .relaxed) }

    public func check() throws(CancelledError) {
        if isCancelled { throw CancelledError() }
    }
}
