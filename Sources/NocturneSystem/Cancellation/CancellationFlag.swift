import Synchronization

/// Work was stopped from outside; the item is not at fault.
public struct CancelledError: Error, Sendable, CustomStringConvertible {
    /// The same error for every request: the reason is known to whoever raised the flag.
    public init() {}
    /// For a log only: nothing that was cancelled is reported as failed.
    public var description: String { "cancelled" }
}

/// A flag that is raised once. Synchronous work checks it, because inside a pool there is no current task and
/// `Task.isCancelled` is always false.
///
/// ```swift
/// let flag = CancellationFlag()
/// let observation = flag.observe { wakeTheWaitingThread() }
/// defer { flag.stopObserving(observation) }
/// for slice in 0..<depth {
///     try flag.check()
///     compute(slice)
/// }
/// ```
public final class CancellationFlag: Sendable {
    private let raised = Atomic<Bool>(false)
    private let observers = Mutex<[UInt64: @Sendable () -> Void]>([:])
    private let lastObserver = Atomic<UInt64>(0)

    /// A flag that is not raised.
    public init() {}

    /// Whether the flag was raised. A relaxed load, so that loops can check it often.
    public var isCancelled: Bool { raised.load(ordering: .relaxed) }

    /// Raises the flag and calls its observers on this thread. Further calls call the observers again.
    public func cancel() {
        let waiting = observers.withLock { observers in
            // Inside the lock: an observer that is added at the same time either is in the list or sees the flag
            // raised.
            raised.store(true, ordering: .relaxed)
            return observers.values.map { $0 }
        }
        // Outside the lock, so that an action may end its observation or add another one.
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

    /// Throws once the flag is raised.
    public func check() throws(CancelledError) {
        if isCancelled { throw CancelledError() }
    }
}
