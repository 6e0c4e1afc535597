import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// What those who wait look at again.
enum BudgetChange: CaseIterable { case shrink, release, admission, addition }

/// A budget of a few bytes and tasks that look, wait for a change and look again, shrink, give back and are cancelled, while
/// admission opens and closes and bytes are added.
struct BudgetWorld<Rules: BudgetRules>: SmallWorld {
    enum Place: UInt8 {
        case idle
        /// Has read the generation of the changes, and not yet looked.
        case called
        /// Does not fit, and does not yet wait for a change after that generation.
        case refused
        case waiting, holding
    }

    struct Caller {
        var place = Place.idle
        var bytes = 0
        var isExclusive = false
        var isCancelled = false
        /// Whether a change was announced since the generation was read.
        var isOutdated = false
    }

    enum Move {
        case call(Int, bytes: Int, exclusive: Bool), look(Int), wait(Int), shrink(Int), release(Int), cancel(Int)
        case toggle, add, announce
    }

    var rules: Rules
    /// A flaw: a change that is not announced.
    var silent: BudgetChange?
    private let total: Int
    private let sizes: [Int]
    /// Whether a refusal and the wait after it are told apart, and a change and its announcement; or each is one.
    private let inSteps: Bool
    private var callers: [Caller]
    private var peak = 0
    private var added = 0
    /// Whether a change is still to be announced.
    private var isDue = false

    init(_ rules: Rules, total: Int, callers: Int, sizes: [Int], inSteps: Bool) {
        (self.rules, self.total, self.sizes, self.inSteps) = (rules, total, sizes, inSteps)
        self.callers = Array(repeating: Caller(), count: callers)
    }

    var key: [UInt8] {
        var key: [UInt8] = [(rules.admitting ? 1 : 0) + (isDue ? 2 : 0) + UInt8(added) * 4, UInt8(peak)]
        for caller in callers {
            let flags = (caller.isExclusive ? 8 : 0) + (caller.isCancelled ? 16 : 0) + (caller.isOutdated ? 32 : 0)
            key.append(caller.place.rawValue + UInt8(flags))
            key.append(UInt8(caller.bytes))
        }
        return key
    }

    var moves: [Move] {
        var moves: [Move] = [.toggle] + (isDue ? [.announce] : []) + (added == 0 ? [.add] : [])
        for (index, caller) in callers.enumerated() {
            switch caller.place {
            case .idle:
                for bytes in sizes { moves.append(.call(index, bytes: bytes, exclusive: false)) }
                moves.append(.call(index, bytes: 1, exclusive: true))
            case .called: moves.append(.look(index))
            case .refused: moves.append(.wait(index))
            case .waiting: break
            case .holding:
                moves.append(.release(index))
                if caller.bytes > 0 { moves.append(.shrink(index)) }
            }
            if caller.place != .idle, caller.place != .holding, !caller.isCancelled { moves.append(.cancel(index)) }
        }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .call(let index, let bytes, let exclusive):
            callers[index] = Caller(place: .called, bytes: bytes, isExclusive: exclusive)
        case .look(let index): return look(index)
        case .wait(let index): wait(index)
        case .shrink(let index):
            callers[index].bytes -= 1
            rules.give(1, endsLease: false)
            changed(.shrink)
        case .release(let index): release(index)
        case .cancel(let index):
            callers[index].isCancelled = true
            // Whoever waits is woken by the handler; all others look at it before they look at the budget, and before they wait.
            if callers[index].place == .waiting { callers[index] = Caller() }
        case .toggle:
            rules.admitting.toggle()
            changed(.admission)
        case .add:
            added += 1
            rules.add(bytes: 1)
            changed(.addition)
        case .announce: announce()
        }
        return nil
    }

    private mutating func changed(_ change: BudgetChange) {
        if change == silent { return }
        isDue = true
        if !inSteps { announce() }
    }

    /// Whoever waits reads the new generation and looks again.
    private mutating func announce() {
        isDue = false
        for index in callers.indices {
            switch callers[index].place {
            case .waiting: callers[index].place = .called
            case .called, .refused: callers[index].isOutdated = inSteps
            case .idle, .holding: break
            }
        }
    }

    private var holding: [Caller] { callers.filter { $0.place == .holding } }

    /// The rules, as the documentation of the budget has them.
    private func fits(_ caller: Caller) -> Bool {
        let holding = holding
        if holding.isEmpty { return true }
        if !rules.admitting || caller.isExclusive || holding.contains(where: \.isExclusive) { return false }
        return caller.bytes <= total + added - holding.reduce(0) { $0 + $1.bytes }
    }

    private mutating func look(_ index: Int) -> String? {
        let caller = callers[index]
        if caller.isCancelled {
            callers[index] = Caller()
            return nil
        }
        do {
            let isTaken = try rules.take(caller.bytes, exclusive: caller.isExclusive)
            guard caller.bytes <= total else { return isTaken ? "above the budget" : "waits for what can never be" }
            guard isTaken == fits(caller) else { return isTaken ? "granted wrongly" : "refused wrongly" }
            if isTaken {
                callers[index] = Caller(place: .holding, bytes: caller.bytes, isExclusive: caller.isExclusive)
                peak = max(peak, holding.reduce(0) { $0 + $1.bytes } - added)
            } else {
                callers[index].place = .refused
                if !inSteps { wait(index) }
            }
            return nil
        } catch {
            callers[index] = Caller()
            return caller.bytes > total && error == .tooLarge(needed: caller.bytes, budget: total)
                ? nil : "rejected wrongly"
        }
    }

    private mutating func wait(_ index: Int) {
        if callers[index].isCancelled {
            callers[index] = Caller()
        } else {
            callers[index].place = callers[index].isOutdated ? .called : .waiting
            callers[index].isOutdated = false
        }
    }

    private mutating func release(_ index: Int) {
        rules.give(callers[index].bytes, endsLease: true)
        callers[index] = Caller()
        changed(.release)
    }

    var fault: String? {
        let holding = holding
        let leased = holding.reduce(0) { $0 + $1.bytes }
        if rules.leased != leased || rules.holders != holding.count || rules.added != added { return "miscounted" }
        if rules.peakLeased != peak { return "wrong peak" }
        if leased > total + added { return "above the budget" }
        if holding.count > 1 && holding.contains(where: \.isExclusive) { return "not alone" }
        // What is still to be announced wakes those who wait.
        if isDue { return nil }
        return callers.contains { $0.place == .waiting && fits($0) } ? "waits although it fits" : nil
    }

    /// Even with admission as it stands, holders that go one by one give everybody a turn.
    mutating func settle() -> String? {
        repeat {
            if isDue { announce() }
            while let index = callers.firstIndex(where: { $0.place == .called || $0.place == .refused }) {
                if callers[index].place == .refused { wait(index) } else if let words = look(index) { return words }
            }
            if let words = fault { return words }
            if let index = callers.firstIndex(where: { $0.place == .holding }) { release(index) }
        } while isDue || callers.contains { $0.place == .called || $0.place == .holding }
        return callers.allSatisfy { $0.place == .idle } ? nil : "somebody waits for ever"
    }
}
