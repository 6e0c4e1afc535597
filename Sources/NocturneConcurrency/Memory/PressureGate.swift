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
        var nextID: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
        /// When the present pause began, and how long those before it took.
        var pausedSince: Duration?
        var pausedTime = Duration.zero

        mutating func newID() -> UInt64 {
            nextID += 1
            return nextID
        }

        mutating func take(_ ids: [UInt64]) -> [CheckedContinuation<Void, any Error>] {
            ids.compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    private let state = Mutex(State())
    private let time: any TimeSource

    /// A gate at the level normal, without tickets.
    /// - Parameter time: by which pauses are measured.
    public init(time: any TimeSource = SystemTime()) { self.time = time }

    /// The level that was set last.
    public var level: PressureLevel { state.withLock { $0.machine.level } }

    /// Whether items are made to wait: the run is paused, or memory is critically short.
    public var isHolding: Bool { state.withLock { $0.machine.isPaused || $0.machine.level == .critical } }

    /// The number of passes that are suspended now.
    public var waiting: Int { state.withLock { $0.machine.waiters.count } }

    /// Items with a lower sequence are older. If two are equal, the one registered first is older.
    public func register(sequence: Int) -> Ticket {
        let ticket = state.withLock { state in
            let ticket = PressureGateStateMachine.Ticket(sequence: sequence, registration: state.newID())
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
        // The flag is observed before the waiter is registered: raised in between, it finds no waiter, and `begin` sees it.
        let id = state.withLock { $0.newID() }
        let observation = flag.observe { [self] in cancel(id) }
        defer { flag.stopObserving(observation) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                begin(ticket?.ticket, id: id, flag, waiter)
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Sets a new level. When the level falls below critical, all waiting passes continue.
    public func setLevel(_ level: PressureLevel) {
        let waiters = state.withLock { $0.take($0.machine.setLevel(level)) }
        for waiter in waiters { waiter.resume() }
    }

    /// Begins or ends a pause. At its end all waiting passes continue that the level allows.
    public func setPaused(_ isPaused: Bool) {
        let now = time.monotonic
        let waiters = state.withLock { state in
            if let since = state.pausedSince, !isPaused { state.pausedTime += now - since }
            state.pausedSince = isPaused ? state.pausedSince ?? now : nil
            return state.take(state.machine.setPaused(isPaused))
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Monotonic time without that of pauses, for measuring work.
    public var workTime: Duration {
        let now = time.monotonic
        return state.withLock { ($0.pausedSince ?? now) - $0.pausedTime }
    }

    private func begin(
        _ ticket: PressureGateStateMachine.Ticket?,
        id: UInt64,
        _ flag: CancellationFlag,
        _ waiter: CheckedContinuation<Void, any Error>
    ) {
        // An earlier cancellation is detected here, under the lock; a later one finds the waiter.
        let outcome = state.withLock { state -> Result<Void, any Error>? in
            if Task.isCancelled || flag.isCancelled { return .failure(CancellationError()) }
            if case .go = state.machine.pass(ticket, id: id) { return .success(()) }
            state.waiters[id] = waiter
            return nil
        }
        if let outcome { waiter.resume(with: outcome) }
    }

    private func cancel(_ id: UInt64) {
        let waiter = state.withLock { state in
            state.machine.cancel(id: id) ? state.waiters.removeValue(forKey: id) : nil
        }
        waiter?.resume(throwing: CancellationError())
    }

    fileprivate func unregister(_ ticket: PressureGateStateMachine.Ticket) {
        let waiters = state.withLock { $0.take($0.machine.unregister(ticket)) }
        for waiter in waiters { waiter.resume() }
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
