import NocturneConcurrency
import NocturneTestSupport
import Testing

@Suite("MemoryBudgetStateMachine")
struct MemoryBudgetStateMachineTests {
    private func wide<Rules: BudgetRules>(_ rules: Rules.Type) -> BudgetWorld<Rules> {
        BudgetWorld(Rules(total: 3), total: 3, callers: 3, sizes: [0, 1, 2, 3, 4], inSteps: false)
    }

    private var stepwise: BudgetWorld<MemoryBudgetStateMachine> {
        BudgetWorld(MemoryBudgetStateMachine(total: 3), total: 3, callers: 3, sizes: [1, 3], inSteps: true)
    }

    @Test("every state that three callers can reach keeps the budget, and gives everybody a turn")
    func everyState() {
        let seen = Exploration.of(wide(MemoryBudgetStateMachine.self))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 100_000 && seen.transitions > 600_000, "\(seen)")
    }

    @Test("no interleaving of looks, waits, changes, announcements and cancellations leaves anybody behind")
    func everyInterleaving() {
        let seen = Exploration.of(stepwise)
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 600_000 && seen.transitions > 4_000_000, "\(seen)")
    }

    @Test("a second, plain way of writing the rules passes, with exactly the same states")
    func plain() {
        let (plain, real) = (
            Exploration.of(wide(PlainBudget.self)), Exploration.of(wide(MemoryBudgetStateMachine.self))
        )
        #expect(plain.fault == nil)
        #expect(plain.states == real.states && plain.transitions == real.transitions)
    }

    @Test("each of these flaws is found", arguments: BudgetFlaw.allCases)
    func flaws(flaw: BudgetFlaw) {
        var world = wide(PlainBudget.self)
        world.rules.flaw = flaw
        #expect(Exploration.of(world).fault != nil)
    }

    @Test("a change that is not announced is found", arguments: BudgetChange.allCases)
    func silence(change: BudgetChange) {
        var world = stepwise
        world.silent = change
        #expect(Exploration.of(world).fault != nil)
    }

    @Test("with admission closed, only the first lease of all is granted")
    func admission() throws {
        var machine = MemoryBudgetStateMachine(total: 10)
        machine.admitting = false
        #expect(try machine.take(1, exclusive: false))
        #expect(try !machine.take(1, exclusive: false))
        machine.give(1, endsLease: true)
        #expect(try machine.take(1, exclusive: false))
        #expect(try !machine.take(1, exclusive: false))
        machine.admitting = true
        #expect(try machine.take(1, exclusive: false))
    }
}
