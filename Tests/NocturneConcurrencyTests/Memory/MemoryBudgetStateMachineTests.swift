import NocturneConcurrency
import Testing

private struct Ledger {
    struct Holder {
        var bytes: Int
        let exclusive: Bool
    }

    var machine = MemoryBudgetStateMachine(total: 3)
    var holders: [Holder] = []
    /// In the order of the requests.
    var waiting: [MemoryBudgetStateMachine.Request] = []
    var nextID: UInt64 = 0
    var peak = 0
    var steps: [String] = []

    private mutating func grant(_ requests: [MemoryBudgetStateMachine.Request]) -> Bool {
        for request in requests {
            // First come, first served.
            guard waiting.first == request else { return false }
            waiting.removeFirst()
            hold(request)
        }
        return true
    }

    private mutating func hold(_ request: MemoryBudgetStateMachine.Request) {
        holders.append(Holder(bytes: request.bytes, exclusive: request.exclusive))
        peak = max(peak, holders.reduce(0) { $0 + $1.bytes })
    }

    mutating func lease(bytes: Int, exclusive: Bool) -> Bool {
        nextID += 1
        let request = MemoryBudgetStateMachine.Request(id: nextID, bytes: bytes, exclusive: exclusive)
        switch machine.lease(request) {
        case .grant:
            guard waiting.isEmpty else { return false }
            hold(request)
            return true
        case .wait:
            waiting.append(request)
            return bytes <= 3
        case .reject(let error): return error == .tooLarge(needed: bytes, budget: 3) && bytes > 3
        }
    }

    mutating func release(_ index: Int) -> Bool {
        let holder = holders.remove(at: index)
        return grant(machine.release(bytes: holder.bytes))
    }

    mutating func shrink(_ index: Int) -> Bool {
        holders[index].bytes -= 1
        return grant(machine.giveBack(bytes: 1))
    }

    mutating func cancel(_ id: UInt64) -> Bool {
        let index = waiting.firstIndex { $0.id == id }
        switch machine.cancel(id: id) {
        case .none: return index == nil
        case .cancelled(let granted):
            guard let index else { return false }
            waiting.remove(at: index)
            return grant(granted)
        }
    }

    mutating func setAdmitting(_ admitting: Bool) -> Bool { grant(machine.setAdmitting(admitting)) }

    var fault: String? {
        let leased = holders.reduce(0) { $0 + $1.bytes }
        if machine.leased != leased || machine.holders != holders.count { return "miscounted" }
        if machine.peakLeased != peak { return "wrong peak" }
        if leased > machine.total { return "above the budget" }
        if holders.count > 1 && holders.contains(where: \.exclusive) { return "not alone" }
        if machine.waiting != waiting { return "the waiters are others" }
        if let first = waiting.first {
            if holders.isEmpty { return "waits although nothing is leased" }
            let blocked = !machine.admitting || first.exclusive || holders.contains(where: \.exclusive)
            if !blocked && first.bytes <= 3 - leased { return "waits although it fits" }
        }
        return nil
    }
}

@Suite("MemoryBudgetStateMachine")
struct MemoryBudgetStateMachineTests {
    private func explore(_ ledger: Ledger, depth: Int, seen: inout Int) -> String? {
        seen += 1
        if let fault = ledger.fault { return "\(fault) after \(ledger.steps)" }
        if depth == 0 { return drain(ledger) }
        var inputs: [(String, (inout Ledger) -> Bool)] = []
        for bytes in [0, 1, 2, 3, 4] {
            inputs.append(("lease \(bytes)", { ledger in ledger.lease(bytes: bytes, exclusive: false) }))
        }
        inputs.append(("lease 1 alone", { ledger in ledger.lease(bytes: 1, exclusive: true) }))
        inputs.append(("toggle", { ledger in ledger.setAdmitting(!ledger.machine.admitting) }))
        for index in ledger.holders.indices {
            inputs.append(("release \(index)", { ledger in ledger.release(index) }))
            if ledger.holders[index].bytes > 0 {
                inputs.append(("shrink \(index)", { ledger in ledger.shrink(index) }))
            }
        }
        for request in ledger.waiting {
            inputs.append(("cancel \(request.id)", { ledger in ledger.cancel(request.id) }))
        }
        for (name, input) in inputs {
            var next = ledger
            next.steps.append(name)
            guard input(&next) else { return "wrong answer after \(next.steps)" }
            if let fault = explore(next, depth: depth - 1, seen: &seen) { return fault }
        }
        return nil
    }

    /// Whatever happened, once holders go one by one everybody gets their turn.
    private func drain(_ ledger: Ledger) -> String? {
        var ledger = ledger
        while !ledger.holders.isEmpty {
            ledger.steps.append("drain")
            guard ledger.release(0) else { return "wrong answer after \(ledger.steps)" }
            if let fault = ledger.fault { return "\(fault) after \(ledger.steps)" }
        }
        return ledger.waiting.isEmpty ? nil : "somebody waits for ever after \(ledger.steps)"
    }

    @Test("every sequence of inputs keeps the budget, the order and the waiters")
    func everySequence() {
        var seen = 0
        #expect(explore(Ledger(), depth: 6, seen: &seen) == nil)
        #expect(seen > 100_000)
    }

    @Test("with admission closed, only the first lease of all is granted")
    func admission() {
        var machine = MemoryBudgetStateMachine(total: 10)
        #expect(machine.setAdmitting(false) == [])
        #expect(machine.lease(.init(id: 1, bytes: 1, exclusive: false)) == .grant)
        #expect(machine.lease(.init(id: 2, bytes: 1, exclusive: false)) == .wait)
        #expect(machine.lease(.init(id: 3, bytes: 1, exclusive: false)) == .wait)
        #expect(machine.release(bytes: 1).map(\.id) == [2])
        #expect(machine.setAdmitting(true).map(\.id) == [3])
    }
}
