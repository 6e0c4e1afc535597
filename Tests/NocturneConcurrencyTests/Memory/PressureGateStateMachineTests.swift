import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("PressureGateStateMachine")
struct PressureGateStateMachineTests {
    private func world<Rules: GateRules>(_ rules: Rules.Type, _ sequences: [Int]) -> GateWorld<Rules> {
        GateWorld(Rules(), sequences: sequences)
    }

    @Test(
        "every interleaving of three items: nobody waits below critical, the oldest never, and all come through",
        arguments: [[1, 2, 3], [1, 1, 2], [5, 5, 5]]
    )
    func everyState(sequences: [Int]) {
        let seen = Exploration.of(world(PressureGateStateMachine.self, sequences))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 90_000 && seen.transitions > 850_000, "\(seen)")
    }

    @Test("a second, plain way of writing the rules passes, with exactly the same states")
    func plain() {
        let plain = Exploration.of(world(PlainGate.self, [1, 1, 2]))
        let real = Exploration.of(world(PressureGateStateMachine.self, [1, 1, 2]))
        #expect(plain.fault == nil)
        #expect(plain.states == real.states && plain.transitions == real.transitions)
    }

    @Test("each of these flaws is found", arguments: GateFlaw.allCases)
    func flaws(flaw: GateFlaw) {
        var world = world(PlainGate.self, [1, 1, 2])
        world.rules.flaw = flaw
        #expect(Exploration.of(world).fault != nil)
    }

    @Test("a change that is not announced is found", arguments: GateChange.allCases)
    func silence(change: GateChange) {
        var world = world(PressureGateStateMachine.self, [1, 1, 2])
        world.silent = change
        #expect(Exploration.of(world).fault != nil)
    }
}
