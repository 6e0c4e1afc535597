import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("BoundedChannelStateMachine")
struct BoundedChannelStateMachineTests {
    /// Five senders and three receivers.
    private func wide<Rules: ChannelRules>(_ rules: Rules.Type, items: Int) -> ChannelWorld<Rules> {
        ChannelWorld(Rules(itemLimit: items), limit: items, senders: 5, receivers: 3, inSteps: false)
    }

    @Test(
        "every state that five senders and three receivers can reach keeps bound and order, and lets everybody go",
        arguments: [1, 2, 3]
    )
    func everyState(items: Int) {
        let seen = Exploration.of(wide(BoundedChannelStateMachine<Int>.self, items: items))
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 600 && seen.transitions > 6_000, "\(seen)")
    }

    @Test(
        "no interleaving of calls, flags and late cancellation handlers leaves anybody behind",
        arguments: [1, 2, 3]
    )
    func everyInterleaving(items: Int) {
        let world = ChannelWorld(
            BoundedChannelStateMachine<Int>(itemLimit: items),
            limit: items,
            senders: 3,
            receivers: 2,
            inSteps: true
        )
        let seen = Exploration.of(world)
        #expect(seen.fault == nil)
        #expect(seen.isComplete)
        #expect(seen.states > 30_000 && seen.transitions > 240_000, "\(seen)")
    }

    @Test("a second, plain way of writing the rules passes, with exactly the same states")
    func plain() {
        let plain = Exploration.of(wide(PlainChannel.self, items: 2))
        let real = Exploration.of(wide(BoundedChannelStateMachine<Int>.self, items: 2))
        #expect(plain.fault == nil)
        #expect(plain.states == real.states && plain.transitions == real.transitions)
    }

    @Test("each of these flaws is found", arguments: ChannelFlaw.allCases)
    func flaws(flaw: ChannelFlaw) {
        let found = [1, 2, 3].contains { items in
            var world = wide(PlainChannel.self, items: items)
            world.rules.flaw = flaw
            return Exploration.of(world).fault != nil
        }
        #expect(found)
    }

    @Test("elements of sends that wait come out in the order of the sends")
    func order() {
        var machine = BoundedChannelStateMachine<String>(itemLimit: 1)
        guard case .accept = machine.send("first", id: 1), case .wait = machine.send("second", id: 2),
            case .wait = machine.send("third", id: 3), case .deliver("first", admitted: 2) = machine.receive(id: 4),
            case .deliver("second", admitted: 3) = machine.receive(id: 5),
            case .deliver("third", admitted: nil) = machine.receive(id: 6)
        else {
            Issue.record("wrong actions")
            return
        }
    }
}
