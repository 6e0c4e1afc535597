import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// Budget, gate and channels together, as a batch uses them: a scheduler that leases for one item after the other and
/// sends it to its pipeline, where two loaders may let it overtake another and a loop goes over its tiles; and pressure
/// that comes and goes, or stays.
struct NightWorld<Budget: BudgetRules, Gate: GateRules>: SmallWorld {
    enum Place: UInt8 { case queued, leasing, sending, sent, loading, working, called, stopped, done, gone }

    struct Plan {
        let bytes: Int
        let pipeline: Int
        var isExclusive = false
    }

    struct Item: Hashable {
        var place = Place.queued
        var tiles = 0
    }

    enum Move {
        case lease, take(pipeline: Int), begin(Int), next(Int), pass(Int), release(Int)
        case gate(PressureLevel), tellBudget
    }

    struct Key: Hashable {
        let items: [Item]
        let level: PressureLevel
        let told: Bool
        let receiving: [Int]
    }

    private let plans: [Plan]
    private let tiles: Int
    /// A flaw: tickets are taken with the lease, so the oldest may be one that waits in a channel.
    private let registersEarly: Bool
    private var items: [Item]
    private let total: Int
    private var budget: Budget
    private var gate: Gate
    private var channels: [BoundedChannelStateMachine<Int>]
    /// How many loaders of each pipeline wait for an item.
    private var receiving: [Int]
    private var receivers: ChannelWaiterID = 0

    init(_ budget: Budget, total: Int, _ gate: Gate, tiles: Int, plans: [Plan], registersEarly: Bool = false) {
        (self.plans, self.tiles, self.registersEarly) = (plans, tiles, registersEarly)
        (self.budget, self.gate, self.total) = (budget, gate, total)
        items = Array(repeating: Item(), count: plans.count)
        let pipelines = (plans.map(\.pipeline).max() ?? 0) + 1
        channels = Array(repeating: BoundedChannelStateMachine(itemLimit: 1), count: pipelines)
        receiving = Array(repeating: 0, count: pipelines)
    }

    var key: Key { Key(items: items, level: gate.level, told: budget.admitting, receiving: receiving) }

    private func ticket(_ index: Int) -> PressureGateStateMachine.Ticket {
        PressureGateStateMachine.Ticket(sequence: index, registration: UInt64(index))
    }

    /// What can go on by itself, whatever the pressure does.
    private var steps: [Move] {
        var steps: [Move] = []
        // The scheduler does one thing after the other.
        let isFree = !items.contains { $0.place == .leasing || $0.place == .sending }
        if isFree && items.contains(where: { $0.place == .queued }) { steps.append(.lease) }
        func count(_ pipeline: Int, _ places: Set<Place>) -> Int {
            items.indices.count { plans[$0].pipeline == pipeline && places.contains(items[$0].place) }
        }
        for pipeline in channels.indices where receiving[pipeline] + count(pipeline, [.loading]) < 2 {
            steps.append(.take(pipeline: pipeline))
        }
        for (index, item) in items.enumerated() {
            switch item.place {
            case .loading where count(plans[index].pipeline, [.working, .called, .stopped]) == 0:
                steps.append(.begin(index))
            case .working: steps.append(.next(index))
            case .called: steps.append(.pass(index))
            case .done: steps.append(.release(index))
            default: break
            }
        }
        return steps
    }

    /// The watch tells the gate first, and the budget after it.
    private var budgetIsBehind: Bool { budget.admitting != (gate.level == .normal) }

    var moves: [Move] { steps + (budgetIsBehind ? [.tellBudget] : PressureLevel.allCases.map(Move.gate)) }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .lease:
            guard let index = items.firstIndex(where: { $0.place == .queued }) else { return "nothing is queued" }
            items[index].place = .leasing
            return lookForMemory()
        case .take(let pipeline):
            switch channels[pipeline].receive(id: newReceiver()) {
            case .deliver(let index, let admitted):
                items[index].place = .loading
                if let sender = admitted { items[Int(sender)].place = .sent }
            case .wait: receiving[pipeline] += 1
            case .end: return "the channel has ended"
            }
        case .begin(let index):
            if !registersEarly { gate.register(ticket(index)) }
            items[index].place = .working
        case .next(let index):
            if items[index].tiles == tiles {
                items[index].place = .done
                gate.unregister(ticket(index))
                lookAtGate()
            } else {
                items[index].place = .called
            }
        case .pass(let index): pass(index)
        case .release(let index):
            items[index].place = .gone
            budget.give(plans[index].bytes, endsLease: true)
            return lookForMemory()
        case .gate(let level):
            gate.level = level
            lookAtGate()
        case .tellBudget:
            budget.admitting = gate.level == .normal
            return lookForMemory()
        }
        return nil
    }

    /// The scheduler looks after every change whether its item fits; ``BudgetWorld`` shows that it misses none.
    private mutating func lookForMemory() -> String? {
        guard let index = items.firstIndex(where: { $0.place == .leasing }) else { return nil }
        do {
            if try budget.take(plans[index].bytes, exclusive: plans[index].isExclusive) { send(index) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private mutating func send(_ index: Int) {
        if registersEarly { gate.register(ticket(index)) }
        switch channels[plans[index].pipeline].send(index, id: UInt64(index)) {
        case .accept: items[index].place = .sent
        case .deliver:
            receiving[plans[index].pipeline] -= 1
            items[index].place = .loading
        case .wait, .reject: items[index].place = .sending
        }
    }

    private mutating func newReceiver() -> ChannelWaiterID {
        receivers += 1
        return receivers
    }

    private mutating func pass(_ index: Int) {
        if gate.mayPass(ticket(index)) {
            items[index].place = .working
            items[index].tiles += 1
        } else {
            items[index].place = .stopped
        }
    }

    /// Whoever waits at the gate looks again after every change; ``GateWorld`` shows that nobody misses one.
    private mutating func lookAtGate() {
        for index in items.indices where items[index].place == .stopped { items[index].place = .called }
    }

    var fault: String? {
        let held: Set<Place> = [.sending, .sent, .loading, .working, .called, .stopped, .done]
        let holding = items.indices.filter { held.contains(items[$0].place) }
        if holding.reduce(0, { $0 + plans[$1].bytes }) > total { return "above the budget" }
        if holding.count > 1 && holding.contains(where: { plans[$0].isExclusive }) { return "not alone" }
        return nil
    }

    /// The pressure stays as it is, for ever: the batch still comes to its end.
    mutating func settle() -> String? {
        if budgetIsBehind, let words = make(.tellBudget) { return words }
        while let step = steps.first {
            if let words = make(step) ?? fault { return words }
        }
        return items.allSatisfy { $0.place == .gone } ? nil : "the batch stands still"
    }
}
