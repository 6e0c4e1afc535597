import NocturneConcurrency

/// What a memory budget decides: the real machine, or one with a flaw that the tests have to find.
protocol BudgetRules {
    init(total: Int)
    var leased: Int { get }
    var added: Int { get }
    var peakLeased: Int { get }
    var holders: Int { get }
    var admitting: Bool { get set }
    mutating func take(_ bytes: Int, exclusive: Bool) throws(MemoryBudget.RequestError) -> Bool
    mutating func give(_ bytes: Int, endsLease: Bool)
    mutating func add(bytes: Int)
}

extension MemoryBudgetStateMachine: BudgetRules {}

/// Mistakes a budget could be written with.
enum BudgetFlaw: CaseIterable {
    case neverTooLarge, leasesAboveTheTotal, exclusiveBesideOthers, othersBesideExclusive, exclusiveForEver
    case shrinkReturnsNothing, addsNothing, addsToOneLease, closedForAll, openInSpiteOfPressure, peakForgets
}

/// The rules of a budget written down once more, plainly, with room for one flaw.
struct PlainBudget: BudgetRules {
    let total: Int
    var flaw: BudgetFlaw?
    var leased = 0
    var added = 0
    var peakLeased = 0
    var holders = 0
    var alone = false
    var admitting = true

    init(total: Int) { self.total = total }

    private func fits(_ bytes: Int, exclusive: Bool) -> Bool {
        if holders == 0 && flaw != .closedForAll { return true }
        if !admitting && flaw != .openInSpiteOfPressure { return false }
        if alone && flaw != .othersBesideExclusive { return false }
        if exclusive && holders > 0 && flaw != .exclusiveBesideOthers { return false }
        let limit = total + (flaw == .addsNothing ? 0 : added)
        return leased + bytes <= limit || flaw == .leasesAboveTheTotal
    }

    mutating func take(_ bytes: Int, exclusive: Bool) throws(MemoryBudget.RequestError) -> Bool {
        let limit = flaw == .addsToOneLease ? total + added : total
        if bytes > limit && flaw != .neverTooLarge { throw .tooLarge(needed: bytes, budget: total) }
        guard fits(bytes, exclusive: exclusive) else { return false }
        leased += bytes
        peakLeased = flaw == .peakForgets ? leased - added : max(peakLeased, leased - added)
        holders += 1
        alone = exclusive || flaw == .exclusiveForEver && alone
        return true
    }

    mutating func give(_ bytes: Int, endsLease: Bool) {
        if endsLease || flaw != .shrinkReturnsNothing { leased -= bytes }
        guard endsLease else { return }
        holders -= 1
        if flaw != .exclusiveForEver { alone = false }
    }

    mutating func add(bytes: Int) { added += bytes }
}
