import Synchronization

/// Why work was stopped from outside. It is no fault of the item.
public struct CancelledError: Error, Sendable, CustomStringConvertible {
    public init() {}
    public var description: String { "cancelled" }
}

/// A switch that is thrown once. Synchronous work looks at it, since inside a pool there is no current task.
public final class CancellationFlag: Sendable {
    private let raised = Atomic<Bool>(false)
    private let observers = Mutex<[UInt64: @Sendable () -> Void]>([:])
    private let lastObserver = Atomic<UInt64>(0)

    public init() {}

    public var isCancelled: Bool { raised.load(ordering: .relaxed) }

    public func cancel() {
        let waiting = observers.withLock { observers in
            raised.store(true, ordering: .relaxed)
            return observers.values.map { $0 }
        }
        for action in waiting { action() }
    }

    /// Calls `action` each time that the flag is raised from now on: for code that waits and cannot look at the flag. An
    /// earlier call of ``cancel()`` is not reported, so check ``isCancelled`` afterwards.
    /// - Returns: what ``stopObserving(_:)`` takes.
    public func observe(_ action: @escaping @Sendable () -> Void) -> UInt64 {
        let id = lastObserver.add(1, ordering: .relaxed).newValue
        observers.withLock { $0[id] = action }
        return id
    }

    /// Ends an observation.
    public func stopObserving(_ observation: UInt64) { observers.withLock { $0[observation] = nil } }

    public func check() throws(CancelledError) {
        if isCancelled { throw CancelledError() }
    }
}
