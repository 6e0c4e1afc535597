import NocturneConcurrency
import NocturneSystem
import NocturneTestSupport

/// What a pressure gate decides: the real machine, or one with a flaw that the tests have to find.
protocol GateRules {
    typealias Ticket = PressureGateStateMachine.Ticket

    init()
    var level: PressureLevel { get set }
    var isPaused: Bool { get set }
    mutating func register(_ ticket: Ticket)
    mutating func unregister(_ ticket: Ticket)
    func mayPass(_ ticket: Ticket?) -> Bool
}

extension PressureGateStateMachine: GateRules {}

/// Mistakes a gate could be written with.
enum GateFlaw: CaseIterable {
    case stopsAtWarning, stopsTheOldestToo, newestGoes, equalsStopEachOther, stoppedByTheGone
    case passesInPauses, oldestPassesInPauses
}

/// What those who wait look at again.
enum GateChange: CaseIterable { case level, pause, departure, cancellation }

/// The rules of a gate written down once more, plainly, with room for one flaw.
struct PlainGate: GateRules {
    var flaw: GateFlaw?
    var level = PressureLevel.normal
    var isPaused = false
    private var tickets: [Ticket] = []

    func mayPass(_ ticket: Ticket?) -> Bool {
        if isPaused, flaw != .passesInPauses, flaw != .oldestPassesInPauses || ticket != tickets.min() { return false }
        guard let ticket else { return true }
        if level < (flaw == .stopsAtWarning ? .warning : .critical) { return true }
        if flaw == .stopsTheOldestToo { return false }
        if flaw == .newestGoes { return ticket == tickets.max() }
        if flaw == .equalsStopEachOther { return tickets.allSatisfy { $0 == ticket || $0.sequence > ticket.sequence } }
        return ticket == tickets.min() || !tickets.contains(ticket)
    }

    mutating func register(_ ticket: Ticket) { tickets.append(ticket) }

    mutating func unregister(_ ticket: Ticket) {
        if flaw != .stoppedByTheGone { tickets.removeAll { $0 == ticket } }
    }
}

/// A gate and items that register, pass it tile by tile and leave, while the pressure rises and falls and the run is paused. At the
/// gate an item looks, waits for a change and looks again.
struct GateWorld<Rules: GateRules>: SmallWorld {
    enum Place: UInt8 {
        case away
        /// Between two tiles, or at one.
        case working
        /// Has read the generation of the changes, and not yet looked.
        case called
        /// May not pass, and does not yet wait for a change after that generation.
        case refused
        case waiting
    }

    struct Item {
        var place = Place.away
        var ticket = PressureGateStateMachine.Ticket(sequence: 0, registration: 0)
        /// Whether its ticket has gone while its pass waits.
        var isGone = false
        /// Whether the flag of its present pass is raised.
        var isCancelled = false
        /// Whether a change was announced since the generation was read.
        var isOutdated = false
    }

    enum Move {
        case register(Int), unregister(Int), call(Int), look(Int), wait(Int), raise(Int), cancelTask(Int)
        case level(PressureLevel), pause(Bool), announce
    }

    var rules: Rules
    /// A flaw: a change that is not announced.
    var silent: GateChange?
    private let sequences: [Int]
    private var items: [Item]
    private var registrations: UInt64 = 0
    /// Whether a change is still to be announced.
    private var isDue = false

    /// - Parameter sequences: of the items; equal ones are ordered by their registration.
    init(_ rules: Rules, sequences: [Int]) {
        (self.rules, self.sequences) = (rules, sequences)
        items = Array(repeating: Item(), count: sequences.count)
    }

    private func isRegistered(_ item: Item) -> Bool { item.place != .away && !item.isGone }

    /// The rules, as the documentation of the gate has them.
    private func mayPass(_ item: Item) -> Bool {
        if rules.isPaused { return false }
        return rules.level < .critical || item.isGone || item.ticket == items.filter(isRegistered).map(\.ticket).min()
    }

    var key: [UInt8] {
        // Only who came before whom counts, among those of equal age.
        let tickets = items.filter(isRegistered).map(\.ticket).sorted()
        var key = [UInt8(rules.level.rawValue) + (rules.isPaused ? 4 : 0) + (isDue ? 8 : 0)]
        for item in items {
            let flags = (item.isCancelled ? 8 : 0) + (item.isOutdated ? 16 : 0) + (item.isGone ? 32 : 0)
            key.append(item.place.rawValue + UInt8(flags))
            key.append(UInt8(tickets.firstIndex(of: item.ticket) ?? 255))
        }
        return key
    }

    var moves: [Move] {
        var moves = PressureLevel.allCases.map(Move.level) + [.pause(!rules.isPaused)] + (isDue ? [.announce] : [])
        for (index, item) in items.enumerated() {
            switch item.place {
            case .away: moves.append(.register(index))
            case .working: moves += [.unregister(index), .call(index)]
            case .called: moves.append(.look(index))
            case .refused: moves.append(.wait(index))
            // The ticket may go while its pass waits, when the last reference to it does: in a pause the pass waits on.
            case .waiting: moves += [.cancelTask(index)] + (item.isGone ? [] : [.unregister(index)])
            }
            if item.place.rawValue >= Place.called.rawValue && !item.isCancelled { moves.append(.raise(index)) }
        }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .register(let index):
            registrations += 1
            let ticket = PressureGateStateMachine.Ticket(sequence: sequences[index], registration: registrations)
            items[index] = Item(place: .working, ticket: ticket)
            rules.register(ticket)
        case .unregister(let index): unregister(index)
        case .call(let index): items[index].place = .called
        case .look(let index): return look(index)
        case .wait(let index): wait(index)
        case .raise(let index):
            items[index].isCancelled = true
            changed(.cancellation)
        // Whoever waits is woken by the handler. All others look at the task where they look at the flag, and before they wait.
        case .cancelTask(let index): leave(index)
        case .level(let level):
            rules.level = level
            changed(.level)
        case .pause(let isPaused):
            rules.isPaused = isPaused
            changed(.pause)
        case .announce: announce()
        }
        return nil
    }

    private mutating func changed(_ change: GateChange) { if change != silent { isDue = true } }

    /// Whoever waits reads the new generation and looks again.
    private mutating func announce() {
        isDue = false
        for index in items.indices {
            switch items[index].place {
            case .waiting: items[index].place = .called
            case .called, .refused: items[index].isOutdated = true
            case .away, .working: break
            }
        }
    }

    private mutating func unregister(_ index: Int) {
        rules.unregister(items[index].ticket)
        if items[index].place == .waiting { items[index].isGone = true } else { items[index] = Item() }
        changed(.departure)
    }

    /// The pass is over, whether it was let through or cancelled.
    private mutating func leave(_ index: Int) {
        let isGone = items[index].isGone
        items[index] = isGone ? Item() : Item(place: .working, ticket: items[index].ticket)
    }

    private mutating func look(_ index: Int) -> String? {
        if items[index].isCancelled {
            leave(index)
            return nil
        }
        let passes = rules.mayPass(items[index].ticket)
        guard passes == mayPass(items[index]) else { return passes ? "goes on out of turn" : "stops without a reason" }
        if passes { leave(index) } else { items[index].place = .refused }
        return nil
    }

    private mutating func wait(_ index: Int) {
        items[index].place = items[index].isOutdated ? .called : .waiting
        items[index].isOutdated = false
    }

    var fault: String? {
        // What is still to be announced wakes those who wait.
        if isDue { return nil }
        let waiting = items.filter { $0.place == .waiting }
        if waiting.contains(where: mayPass) { return "waits although it may pass" }
        return waiting.contains(where: \.isCancelled) ? "a cancelled item goes on waiting" : nil
    }

    /// Without a pause, with the pressure as it stands, for ever: everybody comes through, one after the other.
    mutating func settle() -> String? {
        rules.isPaused = false
        changed(.pause)
        repeat {
            if isDue { announce() }
            while let index = items.firstIndex(where: { $0.place == .called || $0.place == .refused }) {
                if items[index].place == .refused { wait(index) } else if let words = look(index) { return words }
            }
            if let words = fault { return words }
            // One item after the other makes one more tile, then goes away.
            if let index = items.firstIndex(where: { $0.place == .working }) {
                items[index].place = .called
                if let words = look(index) { return words }
                if items[index].place == .working { unregister(index) }
            }
        } while isDue || items.contains { $0.place == .refused || $0.place == .working }
        return items.allSatisfy { $0.place == .away } ? nil : "somebody waits for ever"
    }
}
