internal import DequeModule

/// Names one suspended `lease`. Never used twice in the life of a budget.
package typealias MemoryWaiterID = UInt64

/// What a ``MemoryBudget`` decides, without locks or tasks.
///
/// Invariants, checked by the tests after every input: never more leased than the total; nothing beside an exclusive
/// lease; leases are granted in the order in which they were asked for; the first in line waits only while it has to.
package struct MemoryBudgetStateMachine: Hashable, Sendable {
    package struct Request: Hashable, Sendable {
        package let id: MemoryWaiterID
        package let bytes: Int
        package let exclusive: Bool

        package init(id: MemoryWaiterID, bytes: Int, exclusive: Bool) {
            self.id = id
            self.bytes = bytes
            self.exclusive = exclusive
        }
    }

    package let total: Int
    package private(set) var leased = 0
    package private(set) var peakLeased = 0
    /// Leases that were granted and not released.
    package private(set) var holders = 0
    package private(set) var heldExclusively = false
    package private(set) var admitting = true
    private var waiters = Deque<Request>()

    package init(total: Int) {
        precondition(total > 0, "a memory budget needs bytes")
        self.total = total
    }

    package var waiting: [Request] { Array(waiters) }

    package enum LeaseAction: Hashable {
        case grant
        /// The caller waits until its id is returned by another input.
        case wait
        case reject(MemoryBudgetError)
    }

    package mutating func lease(_ request: Request) -> LeaseAction {
        precondition(request.bytes >= 0, "a lease cannot be negative")
        if request.bytes > total { return .reject(.tooLarge(needed: request.bytes, budget: total)) }
        guard waiters.isEmpty, canGrant(request) else {
            waiters.append(request)
            return .wait
        }
        take(request)
        return .grant
    }

    /// Part of a lease comes back; its holder stays.
    /// - Returns: The requests that are granted through that.
    package mutating func giveBack(bytes: Int) -> [Request] {
        precondition(bytes >= 0 && bytes <= leased, "more memory came back than was leased")
        leased -= bytes
        return admit()
    }

    /// A holder goes, with the `bytes` it still had.
    /// - Returns: The requests that are granted through that.
    package mutating func release(bytes: Int) -> [Request] {
        precondition(holders > 0 && bytes >= 0 && bytes <= leased, "a lease came back that was never granted")
        leased -= bytes
        holders -= 1
        heldExclusively = false
        return admit()
    }

    package enum CancelAction: Hashable {
        /// Not waiting any more: it was granted before.
        case none
        /// The waiter gets a `CancellationError`; those behind it may have found room.
        case cancelled(granted: [Request])
    }

    package mutating func cancel(id: MemoryWaiterID) -> CancelAction {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return .none }
        waiters.remove(at: index)
        return .cancelled(granted: admit())
    }

    /// - Returns: The requests that are granted through that.
    package mutating func setAdmitting(_ admitting: Bool) -> [Request] {
        self.admitting = admitting
        return admit()
    }

    private func canGrant(_ request: Request) -> Bool {
        // With nothing leased there is nothing whose end could ease the pressure, so waiting would be for ever.
        if holders == 0 { return true }
        return admitting && !heldExclusively && !request.exclusive && request.bytes <= total - leased
    }

    private mutating func take(_ request: Request) {
        leased += request.bytes
        peakLeased = max(peakLeased, leased)
        holders += 1
        heldExclusively = request.exclusive
    }

    private mutating func admit() -> [Request] {
        var granted: [Request] = []
        while let request = waiters.first, canGrant(request) {
            waiters.removeFirst()
            take(request)
            granted.append(request)
        }
        return granted
    }
}
