import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// A channel with a few tasks that send and receive, each cancelled at any moment, and one that finishes it.
struct ChannelWorld<Rules: ChannelRules>: SmallWorld {
    enum Place: UInt8 {
        /// Not inside the channel. With a handler due: the operation has ended, the news of its cancellation is late.
        case idle
        /// Inside `send` or `receive`, with an id and a cancellation handler, but not yet behind the lock.
        case called
        case waiting
    }

    struct Caller {
        var place = Place.idle
        var id: ChannelWaiterID = 0
        var isCancelled = false
        var handlerIsDue = false
    }

    enum Move {
        case call(Int), enter(Int), cancel(Int), handle(Int), finish
    }

    var rules: Rules
    private let limit: Int
    private let senders: Int
    /// Whether the steps of a call and those of a cancellation are told apart, or each is one.
    private let inSteps: Bool
    private var callers: [Caller]
    /// Sent, not cancelled and not received, in the order of the sends. An element is its send's id.
    private var line: [Int] = []
    private var finished = false
    private var nextID: ChannelWaiterID = 0

    init(_ rules: Rules, limit: Int, senders: Int, receivers: Int, inSteps: Bool) {
        (self.rules, self.limit, self.senders, self.inSteps) = (rules, limit, senders, inSteps)
        callers = Array(repeating: Caller(), count: senders + receivers)
    }

    var key: [UInt8] {
        var key: [UInt8] = [finished ? 1 : 0]
        for caller in callers {
            key.append(caller.place.rawValue | (caller.isCancelled ? 4 : 0) | (caller.handlerIsDue ? 8 : 0))
        }
        // The waiters in their order, by the tasks they belong to; then how much lies in the buffer.
        for waiter in rules.sendersInLine { key.append(place(of: waiter.id)) }
        key.append(254)
        for id in rules.receiversInLine { key.append(place(of: id)) }
        return key + [255, UInt8(rules.buffered.count)]
    }

    private func place(of id: ChannelWaiterID) -> UInt8 {
        UInt8(callers.firstIndex { $0.place == .waiting && $0.id == id } ?? 253)
    }

    var moves: [Move] {
        var moves: [Move] = []
        for (index, caller) in callers.enumerated() {
            switch caller.place {
            case .idle: if !caller.handlerIsDue { moves.append(.call(index)) }
            case .called: moves.append(.enter(index))
            case .waiting: break
            }
            if caller.place != .idle && !caller.isCancelled { moves.append(.cancel(index)) }
            if caller.handlerIsDue { moves.append(.handle(index)) }
        }
        return moves + [.finish]
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .call(let index):
            nextID += 1
            callers[index] = Caller(place: .called, id: nextID)
            return inSteps ? nil : enter(index)
        case .enter(let index): return enter(index)
        case .cancel(let index):
            callers[index].isCancelled = true
            callers[index].handlerIsDue = true
            return inSteps ? nil : handle(index)
        case .handle(let index): return handle(index)
        case .finish: return finish()
        }
    }

    /// The operation is over; a handler that was due still comes, late.
    private mutating func leave(_ index: Int) {
        callers[index].place = .idle
        callers[index].isCancelled = false
    }

    /// Those who waited go on. Nobody else may be told to.
    private mutating func wake(_ ids: [ChannelWaiterID], among range: Range<Int>) -> Bool {
        for id in ids {
            guard let index = range.first(where: { callers[$0].place == .waiting && callers[$0].id == id }) else {
                return false
            }
            leave(index)
        }
        return true
    }

    private mutating func enter(_ index: Int) -> String? {
        // What `beginSend` and `beginReceive` look at first, under the lock.
        if callers[index].isCancelled {
            leave(index)
            return nil
        }
        return index < senders ? send(index) : receive(index)
    }

    private mutating func send(_ index: Int) -> String? {
        let id = callers[index].id
        switch rules.send(Int(id), id: id) {
        case .accept:
            line.append(Int(id))
            leave(index)
            return finished ? "sent into an ended channel" : nil
        case .deliver(let receiver):
            leave(index)
            let good = !finished && line.isEmpty && wake([receiver], among: senders..<callers.count)
            return good ? nil : "delivered wrongly"
        case .wait:
            line.append(Int(id))
            callers[index].place = .waiting
            return finished ? "waits at an ended channel" : nil
        case .reject:
            leave(index)
            return finished ? nil : "rejected wrongly"
        }
    }

    private mutating func receive(_ index: Int) -> String? {
        switch rules.receive(id: callers[index].id) {
        case .deliver(let element, let admitted):
            leave(index)
            guard line.first == element else { return "lost, doubled or out of order" }
            line.removeFirst()
            return wake(admitted.map { [$0] } ?? [], among: 0..<senders) ? nil : "woke somebody who did not wait"
        case .wait:
            callers[index].place = .waiting
            return line.isEmpty && !finished ? nil : "waits without a reason"
        case .end:
            leave(index)
            return line.isEmpty && finished ? nil : "ended too early"
        }
    }

    private mutating func handle(_ index: Int) -> String? {
        callers[index].handlerIsDue = false
        let (id, waits) = (callers[index].id, callers[index].place == .waiting)
        guard index < senders ? rules.cancelSend(id: id) : rules.cancelReceive(id: id) else {
            return waits ? "a cancelled waiter goes on waiting" : nil
        }
        guard waits else { return "cancelled what did not wait" }
        leave(index)
        line.removeAll { $0 == Int(id) }
        return nil
    }

    private mutating func finish() -> String? {
        let ended = rules.finish()
        if finished { return ended.isEmpty ? nil : "ended twice" }
        finished = true
        return wake(ended, among: senders..<callers.count) ? nil : "ended somebody who did not wait"
    }

    var fault: String? {
        let (buffered, inLine) = (rules.buffered, rules.sendersInLine)
        if buffered.count > limit { return "too many items" }
        if buffered + inLine.map(\.element) != line { return "lost, doubled or out of order" }
        let waiting = callers.indices.filter { callers[$0].place == .waiting }
        let ids = Set(waiting.map { callers[$0].id })
        if ids != Set(inLine.map(\.id) + rules.receiversInLine)
            || ids.count != inLine.count + rules.receiversInLine.count
        {
            return "those in line are not those who wait"
        }
        if !inLine.isEmpty && buffered.count < limit { return "a sender waits although there is room" }
        if rules.receiversInLine.isEmpty { return nil }
        return line.isEmpty && !finished ? nil : "a receiver waits without a reason"
    }

    mutating func settle() -> String? {
        for index in callers.indices {
            if callers[index].place == .called, let words = enter(index) { return words }
            if callers[index].handlerIsDue, let words = handle(index) { return words }
        }
        // One more receiver takes everything, before the end and after it.
        callers.append(Caller())
        for isEnd in [false, true] {
            if isEnd, let words = finish() { return words }
            for _ in 0..<line.count + (isEnd ? 1 : 0) {
                nextID += 1
                callers[callers.count - 1] = Caller(place: .called, id: nextID)
                if let words = receive(callers.count - 1) ?? fault { return words }
            }
            if callers[..<senders].contains(where: { $0.place == .waiting }) { return "a sender waits for ever" }
        }
        return callers.contains { $0.place != .idle } || !line.isEmpty ? "somebody waits for ever" : nil
    }
}
