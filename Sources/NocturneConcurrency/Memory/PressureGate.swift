import NocturneSystem
import Synchronization

/// What items in flight pass before each tile: open at normal and warning; at critical only the oldest item goes on.
///
/// Register a ticket when the loop over tiles begins and give it back when it ends. In between, the holder should wait
/// for nothing but this gate: an oldest item that waited for a paused one would never come through.
public final class PressureGate: Sendable {
    private struct State {
        var machine = PressureGateStateMachine()
        var nextID: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]

        mutating func newID() -> UInt64 {
            nextID += 1
            return nextID
        }

        mutating func take(_ ids: [UInt64]) -> [CheckedContinuation<Void, any Error>] {
            ids.compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    private let state = Mutex(State())

    public init() {}

    public var level: PressureLevel { state.withLock { $0.machine.level } }

    /// How many passes are suspended now.
    public var waiting: Int { state.withLock { $0.machine.waiters.count } }

    /// Items with a lower sequence are older. Between equals, the one registered first is.
    public func register(sequence: Int) -> PressureTicket {
        let ticket = state.withLock { state in
            let ticket = PressureGateStateMachine.Ticket(sequence: sequence, registration: state.newID())
            state.machine.register(ticket)
            return ticket
        }
        return PressureTicket(gate: self, ticket: ticket)
    }

    /// Returns at once at normal and warning, and for the oldest ticket; at critical all others wait here.
    ///
    /// - Throws: `CancellationError` when the task is cancelled before it could go on.
    public nonisolated(nonsending) func pass(_ ticket: PressureTicket) async throws {
        let id = state.withLock { $0.newID() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<Void, any Error>) in
                begin(ticket.ticket, id: id, waiter)
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Tells the gate a new level. On leaving critical all who wait go on.
    public func setLevel(_ level: PressureLevel) {
        let waiters = state.withLock { $0.take($0.machine.setLevel(level)) }
        for waiter in waiters { waiter.resume() }
    }

    private func begin(
        _ ticket: PressureGateStateMachine.Ticket,
        id: UInt64,
        _ waiter: CheckedContinuation<Void, any Error>
    ) {
        // A cancellation that came before is seen here, under the lock; one that comes later finds the waiter.
        let outcome = state.withLock { state -> Result<Void, any Error>? in
            if Task.isCancelled { return .failure(CancellationError()) }
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

/// An item's place at a ``PressureGate``. It goes back with ``unregister()`` or with the last reference.
public final class PressureTicket: Sendable {
    private let gate: PressureGate
    fileprivate let ticket: PressureGateStateMachine.Ticket

    fileprivate init(gate: PressureGate, ticket: PressureGateStateMachine.Ticket) {
        self.gate = gate
        self.ticket = ticket
    }

    deinit { unregister() }

    public var sequence: Int { ticket.sequence }

    /// The next oldest may go on alone. The second call does nothing.
    public func unregister() { gate.unregister(ticket) }
}
