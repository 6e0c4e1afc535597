import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// A budget of a few bytes and tasks that lease, shrink, give back and are cancelled, while admission opens and closes.
struct BudgetWorld<Rules: BudgetRules>: SmallWorld {
    enum Place: UInt8 {
        /// With a handler due: the lease has ended, the news of its cancellation is late.
        case idle
        /// Inside `lease`, with an id and a cancellation handler, but not yet behind the lock.
        case called
        case waiting, holding
    }

    struct Caller {
        var place = Place.idle
        var id: MemoryWaiterID = 0
        var bytes = 0
        var isExclusive = false
        var isCancelled = false
        var handlerIsDue = false
    }

    enum Move {
        case call(Int, bytes: Int, exclusive: Bool), enter(Int), shrink(Int), release(Int), cancel(Int), handle(Int)
        case toggle
    }

    var rules: Rules
    private let total: Int
    private let sizes: [Int]
    /// Whether the steps of a call and those of a cancellation are told apart, or each is one.
    private let inSteps: Bool
    private var callers: [Caller]
    /// In the order of the requests.
    private var line: [MemoryWaiterID] = []
    private var peak = 0
    private var nextID: MemoryWaiterID = 0

    init(_ rules: Rules, total: Int, callers: Int, sizes: [Int], inSteps: Bool) {
        (self.rules, self.total, self.sizes, self.inSteps) = (rules, total, sizes, inSteps)
        self.callers = Array(repeating: Caller(), count: callers)
    }

    private func index(of id: MemoryWaiterID) -> Int? {
        callers.firstIndex { $0.place == .waiting && $0.id == id }
    }

    var key: [UInt8] {
        var key: [UInt8] = [rules.admitting ? 1 : 0, UInt8(peak)]
        for caller in callers {
            let flags = (caller.isExclusive ? 8 : 0) + (caller.isCancelled ? 16 : 0) + (caller.handlerIsDue ? 32 : 0)
            key.append(caller.place.rawValue + UInt8(flags))
            key.append(UInt8(caller.bytes))
        }
        for id in line { key.append(UInt8(index(of: id) ?? 255)) }
        return key
    }

    var moves: [Move] {
        var moves: [Move] = [.toggle]
        for (index, caller) in callers.enumerated() {
            switch caller.place {
            case .idle where !caller.handlerIsDue:
                for bytes in sizes { moves.append(.call(index, bytes: bytes, exclusive: false)) }
                moves.append(.call(index, bytes: 1, exclusive: true))
            case .idle: break
            case .called: moves += [.enter(index)]
            case .waiting: break
            case .holding:
                moves.append(.release(index))
                if caller.bytes > 0 { moves.append(.shrink(index)) }
            }
            let cancels = caller.place == .called || caller.place == .waiting
            if cancels && !caller.isCancelled { moves.append(.cancel(index)) }
            if caller.handlerIsDue { moves.append(.handle(index)) }
        }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .call(let index, let bytes, let exclusive):
            nextID += 1
            callers[index] = Caller(place: .called, id: nextID, bytes: bytes, isExclusive: exclusive)
            return inSteps ? nil : enter(index)
        case .enter(let index): return enter(index)
        case .shrink(let index):
            callers[index].bytes -= 1
            return grant(rules.returnPart(bytes: 1))
        case .release(let index): return release(index)
        case .cancel(let index):
            callers[index].isCancelled = true
            callers[index].handlerIsDue = true
            return inSteps ? nil : handle(index)
        case .handle(let index): return handle(index)
        case .toggle: return grant(rules.setAdmitting(!rules.admitting))
        }
    }

    private mutating func leave(_ index: Int) {
        callers[index] = Caller(id: callers[index].id, handlerIsDue: callers[index].handlerIsDue)
    }

    private mutating func hold(_ index: Int) {
        callers[index].place = .holding
        callers[index].isCancelled = false
        peak = max(peak, callers.reduce(0) { $0 + ($1.place == .holding ? $1.bytes : 0) })
    }

    /// First come, first served.
    private mutating func grant(_ requests: [MemoryBudgetStateMachine.Request]) -> String? {
        for request in requests {
            guard line.first == request.id, let index = index(of: request.id), callers[index].bytes == request.bytes
            else { return "granted out of turn" }
            line.removeFirst()
            hold(index)
        }
        return nil
    }

    private mutating func enter(_ index: Int) -> String? {
        let caller = callers[index]
        // What `begin` looks at first, under the lock.
        if caller.isCancelled {
            leave(index)
            return nil
        }
        let request = MemoryBudgetStateMachine.Request(
            id: caller.id,
            bytes: caller.bytes,
            exclusive: caller.isExclusive
        )
        switch rules.lease(request) {
        case .grant:
            guard line.isEmpty, caller.bytes <= total else { return "granted out of turn" }
            hold(index)
            return nil
        case .wait:
            callers[index].place = .waiting
            line.append(caller.id)
            return caller.bytes <= total ? nil : "waits for what can never be"
        case .reject(let error):
            leave(index)
            return caller.bytes > total && error == .tooLarge(needed: caller.bytes, budget: total)
                ? nil : "rejected wrongly"
        }
    }

    private mutating func release(_ index: Int) -> String? {
        let bytes = callers[index].bytes
        leave(index)
        return grant(rules.release(bytes: bytes))
    }

    private mutating func handle(_ index: Int) -> String? {
        callers[index].handlerIsDue = false
        let (id, waits) = (callers[index].id, callers[index].place == .waiting)
        guard case .cancelled(let granted) = rules.cancel(id: id) else {
            return waits ? "a cancelled waiter goes on waiting" : nil
        }
        guard waits else { return "cancelled what did not wait" }
        leave(index)
        line.removeAll { $0 == id }
        return grant(granted)
    }

    var fault: String? {
        let holding = callers.filter { $0.place == .holding }
        let leased = holding.reduce(0) { $0 + $1.bytes }
        if rules.leased != leased || rules.holders != holding.count { return "miscounted" }
        if rules.peakLeased != peak { return "wrong peak" }
        if leased > total { return "above the budget" }
        if holding.count > 1 && holding.contains(where: \.isExclusive) { return "not alone" }
        if rules.waiting.map(\.id) != line { return "those in line are not those who wait" }
        guard let first = line.first, let index = index(of: first) else { return nil }
        if holding.isEmpty { return "waits although nothing is leased" }
        let blocked = !rules.admitting || callers[index].isExclusive || holding.contains(where: \.isExclusive)
        return !blocked && callers[index].bytes <= total - leased ? "waits although it fits" : nil
    }

    /// Even with admission as it stands, holders that go one by one give everybody a turn.
    mutating func settle() -> String? {
        for index in callers.indices {
            if callers[index].place == .called, let words = enter(index) { return words }
            if callers[index].handlerIsDue, let words = handle(index) { return words }
        }
        let admitting = rules.admitting
        while let index = callers.firstIndex(where: { $0.place == .holding }) {
            // At most one at a time while the pressure lasts.
            let before = rules.holders
            if let words = release(index) ?? fault { return words }
            if !admitting && rules.holders > max(before - 1, 1) { return "admitted under pressure" }
        }
        return line.isEmpty && callers.allSatisfy { $0.place == .idle } ? nil : "somebody waits for ever"
    }
}
