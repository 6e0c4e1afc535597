import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("BoundedChannelStateMachine")
struct BoundedChannelStateMachineTests {
    /// Three senders of three sizes and two receivers.
    private func wide<Rules: ChannelRules>(_ rules: Rules.Type, items: Int, bytes: Int) -> ChannelWorld<Rules> {
        ChannelWorld(
            Rules(itemLimit: items, byteLimit: bytes),
            limits: (items, bytes),
            senders: 3,
            receivers: 2,
            costs: [0, 1, 3],
            inSteps: false
        )
    }

    @Test(
        "every state that three senders and two receivers can reach keeps bounds and order, and lets everybody go",
        arguments: [(items: 1, bytes: 10), (items: 2, bytes: 3), (items: 3, bytes: 2)]
    )
    func everyState(items: Int, bytes: Int) {
        let seen = Exploration.of(wide(BoundedChannelStateMachine<Int>.self, items: items, bytes: bytes))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 1_300 && seen.transitions > 9_000, "\(seen)")
    }

    @Test(
        "no interleaving of calls, flags and late cancellation handlers leaves anybody behind",
        arguments: [(items: 1, bytes: 10), (items: 2, bytes: 3)]
    )
    func everyInterleaving(items: Int, bytes: Int) {
        let world = ChannelWorld(
            BoundedChannelStateMachine<Int>(itemLimit: items, byteLimit: bytes),
            limits: (items, bytes),
            senders: 2,
            receivers: 2,
            costs: [1, 3],
            inSteps: true
        )
        let seen = Exploration.of(world)
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 20_000 && seen.transitions > 130_000, "\(seen)")
    }

    @Test("a second, plain way of writing the rules passes, with exactly the same states")
    func plain() {
        let plain = Exploration.of(wide(PlainChannel.self, items: 2, bytes: 3))
        let real = Exploration.of(wide(BoundedChannelStateMachine<Int>.self, items: 2, bytes: 3))
        #expect(plain.fault == nil)
        #expect(plain.states == real.states && plain.transitions == real.transitions)
    }

    @Test("each of these flaws is found", arguments: ChannelFlaw.allCases)
    func flaws(flaw: ChannelFlaw) {
        let found = [(1, 10), (2, 3), (3, 2)].contains { items, bytes in
            var world = wide(PlainChannel.self, items: items, bytes: bytes)
            world.rules.flaw = flaw
            return Exploration.of(world).fault != nil
        }
        #expect(found)
    }

    @Test("a small element does not overtake a large one that waits")
    func noOvertaking() {
        var machine = BoundedChannelStateMachine<String>(itemLimit: 5, byteLimit: 10)
        guard case .accept = machine.send("first", cost: 6, id: 1),
            case .wait = machine.send("large", cost: 8, id: 2),
            case .wait = machine.send("small", cost: 1, id: 3)
        else {
            Issue.record("wrong actions")
            return
        }
        guard case .deliver("first", let admitted) = machine.receive(id: 4) else {
            Issue.record("wrong action")
            return
        }
        #expect(admitted == [2, 3])
        #expect(machine.bufferedBytes == 9)
    }

    @Test("an element above the byte bound goes alone")
    func oversize() {
        var machine = BoundedChannelStateMachine<Int>(itemLimit: 5, byteLimit: 10)
        guard case .accept = machine.send(1, cost: 100, id: 1), case .wait = machine.send(2, cost: 0, id: 2) else {
            Issue.record("wrong actions")
            return
        }
        #expect(machine.bufferedBytes == 100)
        guard case .deliver(1, let admitted) = machine.receive(id: 3) else {
            Issue.record("wrong action")
            return
        }
        #expect(admitted == [2])
    }
}
