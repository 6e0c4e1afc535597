import NocturneConcurrency

/// What a memory budget decides: the real machine, or one with a flaw that the tests have to find.
protocol BudgetRules {
    typealias Real = MemoryBudgetStateMachine

    init(total: Int)
    var leased: Int { get }
    var peakLeased: Int { get }
    var holders: Int { get }
    var admitting: Bool { get }
    var waiting: [Real.Request] { get }
    mutating func lease(_ request: Real.Request) -> Real.LeaseAction
    mutating func returnPart(bytes: Int) -> [Real.Request]
    mutating func release(bytes: Int) -> [Real.Request]
    mutating func cancel(id: MemoryWaiterID) -> Real.CancelAction
    mutating func setAdmitting(_ admitting: Bool) -> [Real.Request]
}

extension MemoryBudgetStateMachine: BudgetRules {}

/// Mistakes a budget could be written with.
enum BudgetFlaw: CaseIterable {
    case neverTooLarge, leasesAboveTheTotal, smallOvertakesLarge, exclusiveBesideOthers, othersBesideExclusive
    case exclusiveForEver, shrinkWakesNobody, releaseWakesOne, cancelWakesNobody, cancelledStays
    case closedForAll, openInSpiteOfPressure, openingWakesNobody, peakForgets
}

/// The rules of a budget written down once more, plainly, with room for one flaw.
struct PlainBudget: BudgetRules {
    let total: Int
    var flaw: BudgetFlaw?
    var leased = 0
    var peakLeased = 0
    var holders = 0
    var alone = false
    var admitting = true
    var waiting: [Real.Request] = []

    init(total: Int) { self.total = total }

    private func fits(_ request: Real.Request) -> Bool {
        if holders == 0 && flaw != .closedForAll { return true }
        if !admitting && flaw != .openInSpiteOfPressure { return false }
        if alone && flaw != .othersBesideExclusive { return false }
        if request.exclusive && holders > 0 && flaw != .exclusiveBesideOthers { return false }
        return leased + request.bytes <= total || flaw == .leasesAboveTheTotal
    }

    private mutating func take(_ request: Real.Request) {
        leased += request.bytes
        peakLeased = flaw == .peakForgets ? leased : max(peakLeased, leased)
        holders += 1
        alone = request.exclusive || flaw == .exclusiveForEver && alone
    }

    private mutating func admit(atMost most: Int = .max) -> [Real.Request] {
        var granted: [Real.Request] = []
        while let first = waiting.first, granted.count < most, fits(first) {
            take(first)
            granted.append(first)
            waiting.removeFirst()
        }
        return granted
    }

    mutating func lease(_ request: Real.Request) -> Real.LeaseAction {
        if request.bytes > total && flaw != .neverTooLarge {
            return .reject(.tooLarge(needed: request.bytes, budget: total))
        }
        guard waiting.isEmpty || flaw == .smallOvertakesLarge, fits(request) else {
            waiting.append(request)
            return .wait
        }
        take(request)
        return .grant
    }

    mutating func returnPart(bytes: Int) -> [Real.Request] {
        leased -= bytes
        return flaw == .shrinkWakesNobody ? [] : admit()
    }

    mutating func release(bytes: Int) -> [Real.Request] {
        leased -= bytes
        holders -= 1
        if flaw != .exclusiveForEver { alone = false }
        return admit(atMost: flaw == .releaseWakesOne ? 1 : .max)
    }

    mutating func cancel(id: MemoryWaiterID) -> Real.CancelAction {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return .none }
        if flaw != .cancelledStays { waiting.remove(at: index) }
        return .cancelled(granted: flaw == .cancelWakesNobody ? [] : admit())
    }

    mutating func setAdmitting(_ admitting: Bool) -> [Real.Request] {
        self.admitting = admitting
        return flaw == .openingWakesNobody ? [] : admit()
    }
}
