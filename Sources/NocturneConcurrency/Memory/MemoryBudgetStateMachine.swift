/// The count of a ``MemoryBudget``, without locks or tasks.
///
/// Invariants, checked by the tests after every input: the leased bytes never exceed the total and what was added; an exclusive
/// lease is the only one; while nothing is leased, every request that the total allows is granted.
package struct MemoryBudgetStateMachine: Hashable, Sendable {
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
    package var admitting = true

    /// A budget of which nothing is leased. Traps unless `total` is above 0.
    package init(total: Int) {
        precondition(total > 0, "a memory budget must be positive")
        self.total = total
    }

    /// Leases `bytes`, 0 or more, if that is possible now. While nothing is leased it is, whatever the pressure: no lease could end
    /// and ease it, so waiting would never end.
    /// - Returns: false where the caller has to wait for a change.
    /// - Throws: what no change can grant.
    package mutating func take(_ bytes: Int, exclusive: Bool) throws(MemoryBudget.RequestError) -> Bool {
        precondition(bytes >= 0, "a lease cannot be negative")
        if bytes > total { throw .tooLarge(needed: bytes, budget: total) }
        let fits = admitting && !heldExclusively && !exclusive && bytes <= total + added - leased
        guard holders == 0 || fits else { return false }
        leased += bytes
        peakLeased = max(peakLeased, leased - added)
        holders += 1
        heldExclusively = exclusive
        return true
    }

    /// Adds bytes for leases that exist at the same time. A single one is still limited by ``total``, so that it does not depend
    /// on the moment whether a request is refused.
    package mutating func add(bytes: Int) {
        precondition(bytes >= 0, "the budget cannot shrink")
        added += bytes
    }

    /// Returns part of a lease, whose holder keeps the rest; or what it still held, if that ends it.
    package mutating func give(_ bytes: Int, endsLease: Bool) {
        precondition(bytes >= 0 && bytes <= leased, "more memory was returned than leased")
        leased -= bytes
        guard endsLease else { return }
        precondition(holders > 0, "a lease was returned that was never granted")
        holders -= 1
        heldExclusively = false
    }
}
