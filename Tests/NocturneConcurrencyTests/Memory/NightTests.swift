import NocturneConcurrency
import NocturneTestSupport
import Testing

@Suite("Budget, gate and channels together")
struct NightTests {
    private func world<Budget: BudgetRules, Gate: GateRules>(
        _ budget: Budget,
        _ gate: Gate,
        registersEarly: Bool = false
    ) -> NightWorld<Budget, Gate> {
        NightWorld(
            budget,
            total: 3,
            gate,
            tiles: 1,
            plans: [
                .init(bytes: 1, pipeline: 0), .init(bytes: 1, pipeline: 0), .init(bytes: 1, pipeline: 1),
                .init(bytes: 1, pipeline: 0, isExclusive: true), .init(bytes: 3, pipeline: 1),
            ],
            registersEarly: registersEarly
        )
    }

    @Test("whatever the pressure does, and if it stays critical for ever, every item comes through")
    func noStandstill() {
        let seen = Exploration.of(world(MemoryBudgetStateMachine(total: 3), PressureGateStateMachine()))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 10_000 && seen.transitions > 50_000, "\(seen)")
    }

    @Test("a budget that is closed even for the only item, a gate that waits for tickets that are gone: a standstill")
    func flaws() {
        var (budget, gate) = (PlainBudget(total: 3), PlainGate())
        #expect(Exploration.of(world(budget, gate)).fault == nil)
        budget.flaw = .closedForAll
        #expect(Exploration.of(world(budget, gate)).fault?.hasPrefix("the batch stands still") == true)
        budget.flaw = nil
        gate.flaw = .stoppedByTheGone
        #expect(Exploration.of(world(budget, gate)).fault?.hasPrefix("the batch stands still") == true)
    }

    @Test("tickets that were taken with the lease, before the loop over the tiles, would let the batch stand still")
    func earlyTickets() {
        let world = world(MemoryBudgetStateMachine(total: 3), PressureGateStateMachine(), registersEarly: true)
        #expect(Exploration.of(world).fault?.hasPrefix("the batch stands still") == true)
    }
}
