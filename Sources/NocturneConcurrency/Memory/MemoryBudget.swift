public import NocturneSystem
import Synchronization

/// Why memory cannot be leased at all.
public enum MemoryBudgetError: Error, Hashable, Sendable, CustomStringConvertible {
    /// More than the whole budget was asked for; waiting would not help.
    case tooLarge(needed: Int, budget: Int)

    public var description: String {
        switch self {
        case .tooLarge(let needed, let budget):
            "needs \(ByteCount(needed)) of memory, the budget is \(ByteCount(budget))"
        }
    }
}

/// The bytes a batch may use. Whoever is about to allocate takes a lease first, and waits in line until it fits.
///
/// The budget counts, it does not allocate. To be free of deadlock, take one lease an item and do not ask for a second
/// while holding it.
public final class MemoryBudget: Sendable {
    /// Figures at one moment.
    public struct Snapshot: Hashable, Sendable {
        /// The budget in bytes.
        public let total: Int
        /// Bytes that are leased now.
        public let leased: Int
        /// The most bytes that were ever leased at a time.
        public let peakLeased: Int
        /// Leases that are held now.
        public let holders: Int
        /// Requests that wait in line, and the bytes they ask for.
        public let waiting: Int
        public let waitingBytes: Int
    }

    private struct State {
        var machine: MemoryBudgetStateMachine
        var nextID: MemoryWaiterID = 0
        var waiters: [MemoryWaiterID: CheckedContinuation<MemoryLease, any Error>] = [:]
        var onRelease: (@Sendable () -> Void)?

        mutating func take(_ requests: [MemoryBudgetStateMachine.Request]) -> [Grant] {
            requests.compactMap { request in
                waiters.removeValue(forKey: request.id).map { Grant(waiter: $0, bytes: request.bytes) }
            }
        }
    }

    private struct Grant {
        let waiter: CheckedContinuation<MemoryLease, any Error>
        let bytes: Int
    }

    private let state: Mutex<State>

    public init(totalBytes: Int) { state = Mutex(State(machine: MemoryBudgetStateMachine(total: totalBytes))) }

    /// The budget when the user names none: 80 % of the smaller of the cgroup's limit and what is available, and at
    /// least 64 MiB, since a budget of nothing would refuse everything.
    public static func defaultTotal(_ reading: MemoryReading) -> Int {
        let bound = min(reading.cgroupLimitBytes ?? .max, reading.systemAvailableBytes ?? .max)
        // Without either figure the machine tells nothing: a modest laptop's half.
        guard bound < .max else { return 4 << 30 }
        return max(bound / 100 * 80, 64 << 20)
    }

    public var total: Int { state.withLock { $0.machine.total } }

    /// Whether there is no pressure, as ``setAdmitting(_:)`` was last told.
    public var isAdmitting: Bool { state.withLock { $0.machine.admitting } }

    /// Has `action` called whenever bytes come back, on the thread that gave them back.
    package func whenReleased(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.onRelease = action } }

    public func snapshot() -> Snapshot {
        state.withLock { state in
            let machine = state.machine
            let waiting = machine.waiting
            return Snapshot(
                total: machine.total,
                leased: machine.leased,
                peakLeased: machine.peakLeased,
                holders: machine.holders,
                waiting: waiting.count,
                waitingBytes: waiting.reduce(0) { $0 &+ $1.bytes }
            )
        }
    }

    /// Waits in line until `bytes` fit, and takes them.
    ///
    /// - Parameters:
    ///   - bytes: 0 or more.
    ///   - exclusive: Waits until nothing is leased, and nothing else is leased while this lease lives.
    /// - Throws: ``MemoryBudgetError/tooLarge(needed:budget:)`` at once when `bytes` is above the whole budget;
    ///   `CancellationError` when the task was cancelled before the lease was granted, and nothing is leased then.
    public func lease(bytes: Int, exclusive: Bool = false) async throws -> MemoryLease {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let request = MemoryBudgetStateMachine.Request(id: id, bytes: bytes, exclusive: exclusive)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (waiter: CheckedContinuation<MemoryLease, any Error>) in
                begin(request, waiter)
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Under memory pressure nothing new is admitted: with false, requests wait even when they would fit.
    ///
    /// While nothing is leased, the first in line is granted all the same: no lease could end to ease the pressure, so
    /// the batch would stand still for ever.
    public func setAdmitting(_ admitting: Bool) {
        resume(state.withLock { $0.take($0.machine.setAdmitting(admitting)) })
    }

    private func begin(
        _ request: MemoryBudgetStateMachine.Request,
        _ waiter: CheckedContinuation<MemoryLease, any Error>
    ) {
        // A cancellation that came before is seen here, under the lock; one that comes later finds the waiter.
        let action = state.withLock { state -> MemoryBudgetStateMachine.LeaseAction? in
            if Task.isCancelled { return nil }
            let action = state.machine.lease(request)
            if case .wait = action { state.waiters[request.id] = waiter }
            return action
        }
        switch action {
        case nil: waiter.resume(throwing: CancellationError())
        case .grant: waiter.resume(returning: MemoryLease(budget: self, bytes: request.bytes))
        case .reject(let error): waiter.resume(throwing: error)
        case .wait: break
        }
    }

    private func cancel(_ id: MemoryWaiterID) {
        let (cancelled, grants) = state.withLock {
            state -> (CheckedContinuation<MemoryLease, any Error>?, [Grant]) in
            guard case .cancelled(let granted) = state.machine.cancel(id: id) else { return (nil, []) }
            return (state.waiters.removeValue(forKey: id), state.take(granted))
        }
        cancelled?.resume(throwing: CancellationError())
        resume(grants)
    }

    fileprivate func giveBack(bytes: Int, andLeave leaves: Bool) {
        let (grants, action) = state.withLock { state in
            let requests = leaves ? state.machine.release(bytes: bytes) : state.machine.giveBack(bytes: bytes)
            return (state.take(requests), state.onRelease)
        }
        resume(grants)
        action?()
    }

    private func resume(_ grants: [Grant]) {
        for grant in grants { grant.waiter.resume(returning: MemoryLease(budget: self, bytes: grant.bytes)) }
    }
}

/// Bytes taken from a ``MemoryBudget``. They go back with ``release()`` or with the last reference.
public final class MemoryLease: Sendable {
    private let budget: MemoryBudget
    private let held: Mutex<Int?>

    fileprivate init(budget: MemoryBudget, bytes: Int) {
        self.budget = budget
        held = Mutex(bytes)
    }

    deinit { release() }

    /// What is still held: 0 after ``release()``.
    public var bytes: Int { held.withLock { $0 ?? 0 } }

    /// Gives back all but `bytes`. A lease cannot grow: with more than it holds, and after ``release()``, nothing
    /// happens.
    public func shrink(to bytes: Int) {
        let returned = held.withLock { held -> Int in
            guard let current = held, bytes < current else { return 0 }
            held = max(bytes, 0)
            return current - max(bytes, 0)
        }
        if returned > 0 { budget.giveBack(bytes: returned, andLeave: false) }
    }

    /// Gives everything back. The second call does nothing.
    public func release() {
        let returned = held.withLock { held -> Int? in
            defer { held = nil }
            return held
        }
        if let returned { budget.giveBack(bytes: returned, andLeave: true) }
    }
}
