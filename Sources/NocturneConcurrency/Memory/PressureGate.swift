public import NocturneSystem
import Synchronization

/// A gate that each running item passes before each tile: open at the levels normal and warning; at critical only the
/// oldest item continues, and while the run is paused none does.
///
/// Register a ticket when the loop over tiles begins and unregister it when the loop ends. In between, the holder
/// should wait for nothing but this gate: if the oldest item waited for a paused one, neither could continue.
public final class PressureGate: Sendable {
    private struct State {
        var machine = PressureGateStateMachine()
        var registrations: UInt64 = 0
        /// When the present pause began, and how long those before it took.
        var pausedSince: Duration?
        var pausedTime = Duration.zero
    }

    private let state = Mutex(State())
    private let changes = ChangeSignal()
    private let time: any TimeSource

    /// A gate at the level normal, without tickets.
    /// - Parameter time: by which pauses are measured.
    public init(time: any TimeSource = SystemTime()) { self.time = time }

    /// The level that was set last.
    public var level: PressureLevel { state.withLock { $0.machine.level } }

    /// Whether items are made to wait: the run is paused, or memory is critically short.
    public var isHolding: Bool { state.withLock { $0.machine.isPaused || $0.machine.level == .critical } }

    /// The number of passes that are suspended now; for tests.
    package var waiting: Int { changes.waiterCount }

    /// Items with a lower sequence are older. If two are equal, the one registered first is older.
    public func register(sequence: Int) -> Ticket {
        let ticket = state.withLock { state in
            state.registrations += 1
            let ticket = PressureGateStateMachine.Ticket(sequence: sequence, registration: state.registrations)
            state.machine.register(ticket)
            return ticket
        }
        return Ticket(gate: self, ticket: ticket)
    }

    /// Returns at once at normal and warning, and for the oldest ticket; at critical all other tickets wait here, and during a pause
    /// all.
    ///
    /// - Parameters:
    ///   - ticket: nil to wait for the end of a pause only, whatever the level is.
    ///   - flag: of the item; once it is raised, the item waits no longer.
    /// - Throws: `CancellationError` when the task or the item is cancelled before it could continue.
    public nonisolated(nonsending) func pass(_ ticket: Ticket? = nil, flag: CancellationFlag) async throws {
        // Observed before the first look: a flag that is raised earlier is seen there, and one that is raised later ends the wait.
        let observation = flag.observe { [changes] in changes.notify() }
        defer { flag.stopObserving(observation) }
        while true {
            let generation = changes.generation
            if Task.isCancelled || flag.isCancelled { throw CancellationError() }
            if state.withLock({ $0.machine.mayPass(ticket?.ticket) }) { return }
            try await changes.wait(after: generation)
        }
    }

    /// Sets a new level. When the level falls below critical, all waiting passes continue.
    public func setLevel(_ level: PressureLevel) {
        state.withLock { $0.machine.level = level }
        changes.notify()
    }

    /// Begins or ends a pause. At its end all waiting passes continue that the level allows.
    public func setPaused(_ isPaused: Bool) {
        let now = time.monotonic
        state.withLock { state in
            if let since = state.pausedSince, !isPaused { state.pausedTime += now - since }
            state.pausedSince = isPaused ? state.pausedSince ?? now : nil
            state.machine.isPaused = isPaused
        }
        changes.notify()
    }

    /// Monotonic time without that of pauses, for measuring work.
    public var workTime: Duration {
        let now = time.monotonic
        return state.withLock { ($0.pausedSince ?? now) - $0.pausedTime }
    }

    fileprivate func unregister(_ ticket: PressureGateStateMachine.Ticket) {
        state.withLock { $0.machine.unregister(ticket) }
        changes.notify()
    }
}

extension PressureGate {
    /// The registration of an item at a ``PressureGate``. It ends with ``unregister()`` or when the last reference is
    /// released.
    public final class Ticket: Sendable {
        private let gate: PressureGate
        fileprivate let ticket: PressureGateStateMachine.Ticket

        fileprivate init(gate: PressureGate, ticket: PressureGateStateMachine.Ticket) {
            self.gate = gate
            self.ticket = ticket
        }

        deinit { unregister() }

        /// The age of the item: lower is older.
        public var sequence: Int { ticket.sequence }

        /// Ends the registration; the next oldest item may then continue alone. A second call does nothing.
        public func unregister() { gate.unregister(ticket) }
    }
}
