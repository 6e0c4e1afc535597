import NocturneConcurrency
import Testing

/// Follows a machine and knows who waits, and what has to come out next.
private struct Ledger {
    var machine: BoundedChannelStateMachine<Int>
    /// Elements sent and not cancelled or delivered, in the order of their sends. The element is the sender's id.
    var line: [Int] = []
    var waitingSenders: Set<UInt64> = []
    var waitingReceivers: Set<UInt64> = []
    var finished = false
    var failed = false
    var nextID: UInt64 = 1
    var steps: [String] = []

    init(items: Int, bytes: Int) { machine = BoundedChannelStateMachine(itemLimit: items, byteLimit: bytes) }

    private mutating func takeID() -> UInt64 {
        nextID += 1
        return nextID
    }

    /// The senders were waiting, and are no longer.
    private mutating func wakeSenders(_ ids: [UInt64]) -> Bool {
        ids.allSatisfy { waitingSenders.remove($0) != nil }
    }

    mutating func send(cost: Int) -> Bool {
        let id = takeID()
        switch machine.send(Int(id), cost: cost, id: id) {
        case .accept:
            line.append(Int(id))
            return !finished && !failed
        case .handOver(let receiver):
            return !finished && !failed && line.isEmpty && waitingReceivers.remove(receiver) != nil
        case .wait:
            line.append(Int(id))
            waitingSenders.insert(id)
            return !finished && !failed
        case .reject(let error): return failed ? error is CancellationError : finished && error is ChannelFinished
        }
    }

    mutating func receive() -> Bool {
        let id = takeID()
        switch machine.receive(id: id) {
        case .deliver(let element, let admitted):
            guard !line.isEmpty, line.removeFirst() == element else { return false }
            // What a waiting sender still holds cannot have been delivered.
            return !waitingSenders.contains(UInt64(element)) && wakeSenders(admitted)
        case .wait:
            waitingReceivers.insert(id)
            return line.isEmpty && !finished && !failed
        case .end: return line.isEmpty && finished && !failed
        case .reject(let error): return failed && error is CancellationError
        }
    }

    mutating func cancelSend(_ id: UInt64) -> Bool {
        let wasWaiting = waitingSenders.remove(id) != nil
        switch machine.cancelSend(id: id) {
        case .none: return !wasWaiting
        case .cancelled(let admitted):
            line.removeAll { $0 == Int(id) }
            return wasWaiting && wakeSenders(admitted)
        }
    }

    mutating func cancelReceive(_ id: UInt64) -> Bool {
        let wasWaiting = waitingReceivers.remove(id) != nil
        switch machine.cancelReceive(id: id) {
        case .none: return !wasWaiting
        case .cancelled(let admitted): return wasWaiting && admitted.isEmpty
        }
    }

    mutating func finish() -> Bool {
        let ended = Set(machine.finish())
        guard !finished, !failed else { return ended.isEmpty }
        finished = true
        defer { waitingReceivers = [] }
        return ended == waitingReceivers
    }

    mutating func fail() -> Bool {
        let action = machine.fail(CancellationError())
        if failed { return action.leftovers.isEmpty && action.senders.isEmpty && action.receivers.isEmpty }
        failed = true
        defer {
            line = []
            waitingSenders = []
            waitingReceivers = []
        }
        return action.leftovers == line.filter { !waitingSenders.contains(UInt64($0)) }
            && Set(action.senders) == waitingSenders && Set(action.receivers) == waitingReceivers
    }

    /// What must hold after every input.
    var fault: String? {
        let parcels = machine.bufferedParcels
        let bytes = parcels.reduce(0) { $0 + $1.cost }
        if bytes != machine.bufferedBytes { return "miscounted bytes" }
        if parcels.count > machine.itemLimit { return "too many items" }
        if bytes > machine.byteLimit && parcels.count != 1 { return "too many bytes" }
        let senders = machine.waitingSenders
        if Set(senders.map(\.id)) != waitingSenders { return "the waiting senders are others" }
        if Set(machine.waitingReceivers) != waitingReceivers { return "the waiting receivers are others" }
        if parcels.map(\.element) + senders.map(\.parcel.element) != line { return "lost, doubled or out of order" }
        if let first = senders.first {
            let fits =
                parcels.isEmpty
                || (parcels.count < machine.itemLimit && bytes + first.parcel.cost <= machine.byteLimit)
            if fits { return "a sender waits although there is room" }
        }
        if !waitingReceivers.isEmpty && !line.isEmpty { return "a receiver waits although there is something" }
        if !waitingReceivers.isEmpty && (finished || failed) { return "a receiver waits on an ended channel" }
        return nil
    }
}

@Suite("BoundedChannelStateMachine")
struct BoundedChannelStateMachineTests {
    /// Every sequence of inputs up to `depth`; how many states were seen, and the first fault.
    private func explore(_ ledger: Ledger, costs: [Int], depth: Int, seen: inout Int) -> String? {
        seen += 1
        if let fault = ledger.fault { return "\(fault) after \(ledger.steps)" }
        if depth == 0 { return nil }
        var inputs: [(String, (inout Ledger) -> Bool)] = costs.map { cost in
            ("send \(cost)", { ledger in ledger.send(cost: cost) })
        }
        inputs.append(("receive", { ledger in ledger.receive() }))
        inputs.append(("finish", { ledger in ledger.finish() }))
        inputs.append(("fail", { ledger in ledger.fail() }))
        for id in ledger.waitingSenders { inputs.append(("cancel send \(id)", { ledger in ledger.cancelSend(id) })) }
        for id in ledger.waitingReceivers {
            inputs.append(("cancel receive \(id)", { ledger in ledger.cancelReceive(id) }))
        }
        // A cancellation may come when the waiter has long gone on.
        inputs.append(("late cancel", { ledger in ledger.cancelSend(1) && ledger.cancelReceive(1) }))
        for (name, input) in inputs {
            var next = ledger
            next.steps.append(name)
            guard input(&next) else { return "wrong answer after \(next.steps)" }
            if let fault = explore(next, costs: costs, depth: depth - 1, seen: &seen) { return fault }
        }
        return nil
    }

    @Test(
        "every sequence of inputs keeps bounds, order and waiters",
        arguments: [(items: 1, bytes: 10), (items: 2, bytes: 3), (items: 9, bytes: 2)]
    )
    func everySequence(items: Int, bytes: Int) {
        var seen = 0
        let fault = explore(Ledger(items: items, bytes: bytes), costs: [0, 1, 3], depth: 6, seen: &seen)
        #expect(fault == nil)
        #expect(seen > 100_000)
    }

    @Test("long sequences of sends and receives keep them too")
    func deep() {
        var seen = 0
        let fault = explore(deepStart(), costs: [2], depth: 7, seen: &seen)
        #expect(fault == nil)
    }

    /// A full buffer with a large and a small sender behind it.
    private func deepStart() -> Ledger {
        var ledger = Ledger(items: 3, bytes: 4)
        for cost in [1, 1, 2, 4, 9, 1] { _ = ledger.send(cost: cost) }
        return ledger
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
