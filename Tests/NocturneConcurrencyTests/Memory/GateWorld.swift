import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// What a pressure gate decides: the real machine, or one with a flaw that the tests have to find.
protocol GateRules {
    typealias Ticket = PressureGateStateMachine.Ticket

    init()
    var level: PressureLevel { get }
    var isPaused: Bool { get }
    var waiters: [UInt64: Ticket?] { get }
    mutating func register(_ ticket: Ticket)
    mutating func unregister(_ ticket: Ticket) -> [UInt64]
    mutating func pass(_ ticket: Ticket?, id: UInt64) -> PressureGateStateMachine.PassAction
    mutating func setLevel(_ level: PressureLevel) -> [UInt64]
    mutating func setPaused(_ isPaused: Bool) -> [UInt64]
    mutating func cancel(id: UInt64) -> Bool
}

extension PressureGateStateMachine: GateRules {}

/// Mistakes a gate could be written with.
enum GateFlaw: CaseIterable {
    case stopsAtWarning, stopsTheOldestToo, newestGoes, equalsStopEachOther, handsOnToNobody, openingWakesNobody
    case cancelledStays, stoppedByTheGone
    case passesInPauses, oldestPassesInPauses, continuingWakesNobody, continuingWakesAll
}

/// The rules of a gate written down once more, plainly, with room for one flaw.
struct PlainGate: GateRules {
    var flaw: GateFlaw?
    var level = PressureLevel.normal
    var isPaused = false
    var waiters: [UInt64: Ticket?] = [:]
    private var tickets: [Ticket] = []

    private func mayPass(_ ticket: Ticket?) -> Bool {
        if isPaused, flaw != .passesInPauses, flaw != .oldestPassesInPauses || ticket != tickets.min() { return false }
        guard let ticket else { return true }
        if level < (flaw == .stopsAtWarning ? .warning : .critical) { return true }
        if flaw == .stopsTheOldestToo { return false }
        if flaw == .newestGoes { return ticket == tickets.max() }
        if flaw == .equalsStopEachOther { return tickets.allSatisfy { $0 == ticket || $0.sequence > ticket.sequence } }
        return ticket == tickets.min() || !tickets.contains(ticket)
    }

    private mutating func wake() -> [UInt64] {
        let ids = waiters.filter { mayPass($0.value) }.map(\.key)
        for id in ids { waiters.removeValue(forKey: id) }
        return ids
    }

    mutating func register(_ ticket: Ticket) { tickets.append(ticket) }

    mutating func unregister(_ ticket: Ticket) -> [UInt64] {
        if flaw != .stoppedByTheGone { tickets.removeAll { $0 == ticket } }
        return flaw == .handsOnToNobody ? [] : wake()
    }

    mutating func pass(_ ticket: Ticket?, id: UInt64) -> PressureGateStateMachine.PassAction {
        if mayPass(ticket) { return .go }
        waiters.updateValue(ticket, forKey: id)
        return .wait
    }

    mutating func setLevel(_ level: PressureLevel) -> [UInt64] {
        self.level = level
        return flaw == .openingWakesNobody ? [] : wake()
    }

    mutating func setPaused(_ isPaused: Bool) -> [UInt64] {
        self.isPaused = isPaused
        if flaw == .continuingWakesNobody { return [] }
        guard flaw == .continuingWakesAll, !isPaused else { return wake() }
        defer { waiters = [:] }
        return Array(waiters.keys)
    }

    mutating func cancel(id: UInt64) -> Bool {
        guard waiters.keys.contains(id) else { return false }
        if flaw != .cancelledStays { waiters.removeValue(forKey: id) }
        return true
    }
}

/// A gate and items that register, pass it tile by tile and leave, while the pressure rises and falls and the run is paused.
struct GateWorld<Rules: GateRules>: SmallWorld {
    enum Place: UInt8 {
        case away
        /// Between two tiles, or at one.
        case working
        case called, waiting
    }

    struct Item {
        var place = Place.away
        var ticket = PressureGateStateMachine.Ticket(sequence: 0, registration: 0)
        var id: UInt64 = 0
        var isCancelled = false
        var handlerIsDue = false
    }

    enum Move {
        case register(Int), unregister(Int), call(Int), enter(Int), cancel(Int), handle(Int), level(PressureLevel)
        case pause(Bool)
    }

    var rules: Rules
    private let sequences: [Int]
    private var items: [Item]
    private var nextID: UInt64 = 0
    /// Whose ticket goes just now.
    private var leaving: Int?

    /// - Parameter sequences: of the items; equal ones are ordered by their registration.
    init(_ rules: Rules, sequences: [Int]) {
        (self.rules, self.sequences) = (rules, sequences)
        items = Array(repeating: Item(), count: sequences.count)
    }

    private var oldest: PressureGateStateMachine.Ticket? {
        items.indices.filter { items[$0].place != .away && $0 != leaving }.map { items[$0].ticket }.min()
    }

    var key: [UInt8] {
        let registrations = items.filter { $0.place != .away }.map(\.ticket.registration).sorted()
        var key = [UInt8(rules.level.rawValue) + (rules.isPaused ? 4 : 0)]
        for item in items {
            key.append(item.place.rawValue + (item.isCancelled ? 8 : 0) + (item.handlerIsDue ? 16 : 0))
            // Only who came before whom counts.
            key.append(UInt8(registrations.firstIndex(of: item.ticket.registration) ?? 255))
        }
        return key
    }

    var moves: [Move] {
        var moves = PressureLevel.allCases.map(Move.level) + [.pause(!rules.isPaused)]
        for (index, item) in items.enumerated() {
            switch item.place {
            case .away: moves.append(.register(index))
            case .working: moves += [.unregister(index)] + (item.handlerIsDue ? [] : [.call(index)])
            case .called: moves.append(.enter(index))
            // The ticket may go while its pass waits, when the last reference to it does: in a pause the pass waits on.
            case .waiting: if !rules.isPaused { moves.append(.unregister(index)) }
            }
            if !item.isCancelled && (item.place == .called || item.place == .waiting) { moves.append(.cancel(index)) }
            if item.handlerIsDue { moves.append(.handle(index)) }
        }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .register(let index):
            nextID += 1
            let due = items[index].handlerIsDue
            let ticket = PressureGateStateMachine.Ticket(sequence: sequences[index], registration: nextID)
            items[index] = Item(place: .working, ticket: ticket, id: items[index].id, handlerIsDue: due)
            rules.register(ticket)
            return nil
        case .unregister(let index): return unregister(index)
        case .call(let index):
            nextID += 1
            items[index].place = .called
            items[index].id = nextID
            return nil
        case .enter(let index): return enter(index)
        case .cancel(let index):
            items[index].isCancelled = true
            items[index].handlerIsDue = true
            return nil
        case .handle(let index): return handle(index)
        case .level(let level): return wake(rules.setLevel(level))
        case .pause(let isPaused): return wake(rules.setPaused(isPaused))
        }
    }

    private mutating func wake(_ ids: [UInt64]) -> String? {
        for id in ids {
            guard let index = items.firstIndex(where: { $0.place == .waiting && $0.id == id }) else {
                return "woke somebody who did not wait"
            }
            let isOldest = items[index].ticket == oldest
            if rules.isPaused || rules.level == .critical && !isOldest && index != leaving {
                return "woke somebody out of turn"
            }
            items[index].place = .working
            items[index].isCancelled = false
        }
        return nil
    }

    private mutating func unregister(_ index: Int) -> String? {
        let waits = items[index].place == .waiting
        leaving = index
        defer { leaving = nil }
        let woken = rules.unregister(items[index].ticket)
        if waits && !woken.contains(items[index].id) { return "waits with a ticket that is gone" }
        if let words = wake(woken) { return words }
        items[index].place = .away
        return nil
    }

    private mutating func enter(_ index: Int) -> String? {
        let isCancelled = items[index].isCancelled
        items[index].isCancelled = false
        items[index].place = .working
        // What `begin` looks at first, under the lock.
        if isCancelled { return nil }
        switch rules.pass(items[index].ticket, id: items[index].id) {
        case .go where rules.isPaused: return "goes on in a pause"
        case .go: return rules.level < .critical || items[index].ticket == oldest ? nil : "goes on out of turn"
        case .wait:
            items[index].place = .waiting
            return rules.level == .critical || rules.isPaused ? nil : "stops without pressure"
        }
    }

    private mutating func handle(_ index: Int) -> String? {
        items[index].handlerIsDue = false
        let waits = items[index].place == .waiting
        guard rules.cancel(id: items[index].id) == waits else { return "cancelled wrongly" }
        if waits { (items[index].place, items[index].isCancelled) = (.working, false) }
        return nil
    }

    var fault: String? {
        let waiting = items.filter { $0.place == .waiting }
        if Set(rules.waiters.keys) != Set(waiting.map(\.id)) { return "those in line are not those who wait" }
        if rules.isPaused { return nil }
        if rules.level < .critical && !waiting.isEmpty { return "somebody waits below critical" }
        return waiting.contains { $0.ticket == oldest } ? "the oldest waits" : nil
    }

    /// Without a pause, with the pressure as it stands, for ever: everybody comes through, one after the other.
    mutating func settle() -> String? {
        if let words = wake(rules.setPaused(false)) { return words }
        for index in items.indices {
            if items[index].place == .called, let words = enter(index) { return words }
            if items[index].handlerIsDue, let words = handle(index) { return words }
        }
        while let index = items.indices.first(where: { items[$0].place == .working }) {
            nextID += 1
            items[index].id = nextID
            // One more tile, then away.
            if let words = enter(index) { return words }
            if items[index].place == .working, let words = unregister(index) { return words }
            if let words = fault { return words }
        }
        return items.contains { $0.place == .waiting } ? "somebody waits for ever" : nil
    }
}
