import Glibc

/// What the engine does about requests to stop: the first asks its items to stop, a second one ends the process at once,
/// and so does the deadline.
public struct StopStateMachine: Sendable, Hashable {
    /// What the engine does about a request or the time.
    public enum Action: Sendable, Hashable {
        /// The same request, received twice.
        case none
        /// Ask every item to stop.
        case cancel
        /// End the process now. Every file is either whole or absent, and the journal is consistent at any moment.
        case leave(signal: Int32)
    }

    /// Service managers signal every process of a group, and the supervisor forwards its own signal: within this time they
    /// are one request.
    static let echo = Duration.milliseconds(300)
    /// The time for items to stop. They need less than a second, unless one is stuck in a read.
    package static let patience = Duration.seconds(10)

    /// The first signal that asked to stop.
    public private(set) var received: Int32?
    private var moment = Duration.zero
    /// Whether there is anything to stop yet.
    public private(set) var hasBegun = false

    /// Before the batch has begun, and without a request.
    public init() {}

    /// When the process is to end although items have not stopped; nil while nothing has been requested.
    public var deadline: Duration? { received == nil ? nil : moment + StopStateMachine.patience }

    /// From now on the first request stops the batch instead of the process.
    public mutating func batchBegins() { hasBegun = true }

    /// A request to stop has come.
    /// - Parameter signal: the signal, or the one that stands for the request.
    public mutating func requested(_ signal: Int32, at now: Duration) -> Action {
        guard let first = received else {
            received = signal
            moment = now
            return hasBegun ? .cancel : .leave(signal: signal)
        }
        // The kernel repeats it every second while the limit of processor time is exceeded.
        if signal == SIGXCPU { return .none }
        return now - moment < StopStateMachine.echo ? .none : .leave(signal: first)
    }

    /// Whether the deadline has passed.
    public mutating func looked(at now: Duration) -> Action {
        guard let received, let deadline, now >= deadline else { return .none }
        return .leave(signal: received)
    }
}
