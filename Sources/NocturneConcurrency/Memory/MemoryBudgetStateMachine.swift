internal import DequeModule

/// Identifies one suspended `lease`. Never reused within one budget.
package typealias MemoryWaiterID = UInt64

/// The decisions of a ``MemoryBudget``, without locks or tasks.
///
/// Invariants, checked by the tests after every input: the leased bytes never exceed the total and what was added; an exclusive
/// lease is the only one; leases are granted in the order of the requests; the first request in the queue waits only
/// while it must.
package struct MemoryBudgetStateMachine: Hashable, Sendable {
    /// A request for memory, in the order of its arrival.
    package struct Request: Hashable, Sendable {
        /// By which the request is granted or cancelled.
        package let id: MemoryWaiterID
        /// The size of the lease, 0 or more.
        package let bytes: Int
        /// Whether no other lease may exist at the same time.
        package let exclusive: Bool

        /// - Parameters:
        ///   - id: not used before in this budget.
        ///   - bytes: 0 or more.
        ///   - exclusive: whether no other lease may exist at the same time.
        package init(id: MemoryWaiterID, bytes: Int, exclusive: Bool) {
            self.id = id
            self.bytes = bytes
            self.exclusive = exclusive
        }
    }

    /// The budget in bytes, above 0.
    package let total: Int
    /// The bytes of all leases that are held now.
    package private(set) var leased = 0
    /// Bytes that were set apart from the budget, and are free by now.
    package private(set) var added = 0
    /// The most bytes that were leased at the same time, beyond those that had been added by then.
    package private(set) var peakLeased = 0
    /// Leases that were granted and not released.
    package private(set) var holders = 0
    /// Whether the only lease is an exclusive one.
    package private(set) var heldExclusively = false
    /// Whether new requests are granted; false under memory pressure.
    package private(set) var admitting = true
    private var waiters = Deque<Request>()

    /// A budget of which nothing is leased. Traps unless `total` is above 0.
    package init(total: Int) {
        precondition(total > 0, "a memory budget must be positive")
        self.total = total
    }

    /// The requests that wait, in the order in which they will be granted. O(n).
    package var waiting: [Request] { Array(waiters) }

    /// What the caller of ``lease(_:)`` does.
    package enum LeaseAction: Hashable {
        case grant
        /// The caller waits until another input returns its id.
        case wait
        case reject(MemoryBudget.RequestError)
    }

    /// Grants a request, or puts it at the end of the queue. A request that fits does not overtake earlier ones: a
    /// large item would otherwise wait without end behind small ones.
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

    /// Adds bytes for leases that exist at the same time. A single one is still limited by ``total``, so that it does not depend
    /// on the moment whether a request is refused.
    /// - Returns: The requests that are granted as a result.
    package mutating func add(bytes: Int) -> [Request] {
        precondition(bytes >= 0, "the budget cannot shrink")
        added += bytes
        return admit()
    }

    /// Returns part of a lease; the holder keeps the rest.
    /// - Returns: The requests that are granted as a result.
    package mutating func returnPart(bytes: Int) -> [Request] {
        precondition(bytes >= 0 && bytes <= leased, "more memory was returned than leased")
        leased -= bytes
        return admit()
    }

    /// Ends a lease that still held `bytes`.
    /// - Returns: The requests that are granted as a result.
    package mutating func release(bytes: Int) -> [Request] {
        precondition(holders > 0 && bytes >= 0 && bytes <= leased, "a lease was returned that was never granted")
        leased -= bytes
        holders -= 1
        heldExclusively = false
        return admit()
    }

    /// What the caller of ``cancel(id:)`` does.
    package enum CancelAction: Hashable {
        /// The request is no longer waiting: it was granted earlier.
        case none
        /// The waiter gets a `CancellationError`; the requests behind it may fit now.
        case cancelled(granted: [Request])
    }

    /// Withdraws a waiting request. O(n) in the waiting requests.
    package mutating func cancel(id: MemoryWaiterID) -> CancelAction {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return .none }
        waiters.remove(at: index)
        return .cancelled(granted: admit())
    }

    /// - Returns: The requests that are granted as a result.
    package mutating func setAdmitting(_ admitting: Bool) -> [Request] {
        self.admitting = admitting
        return admit()
    }

    private func canGrant(_ request: Request) -> Bool {
        // With nothing leased, no lease can end and ease the pressure, so waiting would never end.
        if holders == 0 { return true }
        return admitting && !heldExclusively && !request.exclusive && request.bytes <= total + added - leased
    }

    private mutating func take(_ request: Request) {
        leased += request.bytes
        peakLeased = max(peakLeased, leased - added)
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
