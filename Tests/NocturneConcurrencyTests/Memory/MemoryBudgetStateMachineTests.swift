import NocturneConcurrency
import NocturneTestSupport
import Testing

@Suite("MemoryBudgetStateMachine")
struct MemoryBudgetStateMachineTests {
    private func wide<Rules: BudgetRules>(_ rules: Rules.Type) -> BudgetWorld<Rules> {
        BudgetWorld(Rules(total: 3), total: 3, callers: 4, sizes: [0, 1, 2, 3, 4], inSteps: false)
    }

    @Test("every state that four callers can reach keeps the budget and the order, and gives everybody a turn")
    func everyState() {
        let seen = Exploration.of(wide(MemoryBudgetStateMachine.self))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 100_000 && seen.transitions > 700_000, "\(seen)")
    }

    @Test("no interleaving of calls, flags and late cancellation handlers leaves anybody behind")
    func everyInterleaving() {
        let world = BudgetWorld(
            MemoryBudgetStateMachine(total: 3),
            total: 3,
            callers: 3,
            sizes: [1, 3],
            inSteps: true
        )
        let seen = Exploration.of(world)
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 60_000 && seen.transitions > 400_000, "\(seen)")
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
