import NocturneCore
import NocturnePipeline
import NocturneTestSupport

/// Mistakes the way from a finished item to its record could be written with.
enum CommitFlaw: CaseIterable {
    case recordsBeforeRenaming, renamesUnflushed, recordsBeforeTheFolderIsFlushed, neverAdopts, adoptsAnything
    case adoptsBeforeTheFolderIsFlushed, quarantinesTheFinished
    case forgetsDeaths, suspectsBesideOthers, doesAllAnew
}

/// What lies in a folder: a result of an earlier version of the source, or of this one.
enum Content: UInt8 {
    case none, old
    /// Written, and lost to a power cut.
    case new
    /// Written and flushed.
    case whole
    /// What a power cut leaves of the unflushed.
    case damaged
}

/// Two items on their way through journal, staging and commit, in an engine that can end at any moment.
///
/// Decisions are ``WorkPlanner``'s own. The steps between are those of `StockTaking`, `Scheduler` and `Committer`, each
/// as one move; what reaches the disk only with a flush is kept twice, as it looks and as a power cut would leave it.
struct CommitWorld: SmallWorld {
    enum Phase: UInt8 {
        /// No engine; or a supervisor that knows how the last one died.
        case absent, orphaned
        /// Decisions are recorded, finished folders not yet adopted.
        case stocked
        case working
        /// The committer has flushed a group, and renames it into place, one by one.
        case renaming
        /// The output folder was flushed.
        case recording
        case ended
    }

    enum Place: UInt8 { case out, queued, inFlight, written, inGroup, renamed }

    /// How an engine ends that was not asked to.
    enum Crash {
        /// It dies, and its supervisor starts another.
        case death
        /// Both are killed.
        case kill
        /// Of the renames that were not flushed, these items' survive.
        case powerCut(keeping: [Bool])
    }

    enum Move { case begin, adopt, start, write(Int), group, rename, flushFolder, record, interrupt, crash(Crash) }

    struct Row: Hashable {
        var state = ItemState.pending
        var deaths = 0
        var isOld = false
        var exists = false
    }

    struct Item: Hashable {
        /// As any process sees it, and as it is after a power cut.
        var row = Row()
        var durableRow = Row()
        var final = Content.none
        var durableFinal = Content.none
        var staged = Content.none
        // Of the engine that runs.
        var place = Place.out
        var isSuspect = false
        // Of the onlooker: whether it was in flight when an engine died, and how often that was put on record.
        var diedInFlight = false
        var blame = 0
        var wasCommitted = false
    }

    struct Key: Hashable {
        let phase: Phase
        let items: [Item]
        let queue: [Int]
    }

    private var items: [Item]
    private var phase = Phase.absent
    private var queue: [Int] = []
    private let flaw: CommitFlaw?
    /// Whether the file system can exchange two names in one step.
    private let exchanges: Bool

    private static let sources = ["a", "b"].map {
        DiscoveredItem(key: $0, name: $0, model: "m", source: "{}", path: $0, fingerprint: .of($0 + " new"))
    }

    /// - Parameter hasOldResult: whether the first item was completed before its source changed.
    init(hasOldResult: Bool, exchanges: Bool, flaw: CommitFlaw? = nil) {
        (self.exchanges, self.flaw) = (exchanges, flaw)
        items = [Item(), Item()]
        if hasOldResult {
            let row = Row(state: .completed, deaths: 0, isOld: true, exists: true)
            items[0] = Item(row: row, durableRow: row, final: .old, durableFinal: .old)
        }
    }

    var key: Key { Key(phase: phase, items: items, queue: queue) }

    private func indices(at place: Place) -> [Int] { items.indices.filter { items[$0].place == place } }

    private var inFlight: [Int] { items.indices.filter { items[$0].place.rawValue >= Place.inFlight.rawValue } }

    /// The first in line, if it may go: suspects go alone.
    private var startable: Int? {
        guard let first = queue.first else { return nil }
        let mixed = items[first].isSuspect || inFlight.contains { items[$0].isSuspect }
        return mixed && !inFlight.isEmpty && flaw != .suspectsBesideOthers ? nil : first
    }

    /// What the engine can do next by itself.
    private var steps: [Move] {
        switch phase {
        case .absent, .orphaned: return [.begin]
        case .stocked: return [.adopt]
        case .ended: return []
        case .working, .renaming, .recording: break
        }
        var steps: [Move] = startable == nil ? [] : [.start]
        steps += indices(at: .inFlight).map(Move.write)
        switch phase {
        case .renaming: steps.append(indices(at: .inGroup).isEmpty ? .flushFolder : .rename)
        case .recording: steps.append(.record)
        default: if !indices(at: .written).isEmpty { steps.append(.group) }
        }
        return steps
    }

    var moves: [Move] {
        var moves = steps + [.crash(.death), .crash(.kill)]
        // A power cut keeps of every rename that was not flushed what it happens to keep.
        let open = items.map { $0.final != $0.durableFinal }
        for first in open[0] ? [false, true] : [true] {
            for second in open[1] ? [false, true] : [true] {
                moves.append(.crash(.powerCut(keeping: [first, second])))
            }
        }
        if phase == .working { moves.append(.interrupt) }
        if phase == .ended { moves.append(.begin) }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .begin: takeStock()
        case .adopt: adopt()
        case .start: return start()
        case .write(let index):
            items[index].staged = .new
            items[index].place = .written
        case .group:
            // The committer takes all that wait, and flushes them together.
            for index in indices(at: .written) {
                items[index].place = .inGroup
                if flaw != .renamesUnflushed { items[index].staged = .whole }
            }
            phase = .renaming
            if flaw == .recordsBeforeRenaming { record() }
        case .rename: renameNext()
        case .flushFolder:
            if flaw != .recordsBeforeTheFolderIsFlushed { flushFolder() }
            phase = .recording
        case .record:
            record()
            for index in indices(at: .renamed) { items[index].place = .out }
            endOrGoOn()
        case .interrupt:
            for index in inFlight { items[index].row.state = .pending }
            flushJournal()
            leave(.absent)
        case .crash(let crash): self.crash(crash)
        }
        return nil
    }

    private mutating func flushJournal() { for index in items.indices { items[index].durableRow = items[index].row } }

    private mutating func flushFolder() {
        for index in items.indices { items[index].durableFinal = items[index].final }
    }

    private mutating func endOrGoOn() {
        phase = queue.isEmpty && inFlight.isEmpty ? .ended : .working
    }

    private mutating func leave(_ next: Phase) {
        phase = next
        queue = []
        for index in items.indices { (items[index].place, items[index].isSuspect) = (.out, false) }
    }

    /// As `StockTaking` does: the planner decides, and what is new is recorded in one durable transaction.
    private mutating func takeStock() {
        var known: [String: JournalItem] = [:]
        for (index, source) in Self.sources.enumerated() where items[index].row.exists {
            let row = items[index].row
            known[source.key] = JournalItem(
                id: Int64(index),
                key: source.key,
                name: source.name,
                path: source.path,
                fingerprint: row.isOld ? "old" : source.fingerprint.hex,
                state: row.state,
                reason: nil,
                deaths: row.deaths,
                notes: []
            )
        }
        let death = phase == .orphaned && flaw != .forgetsDeaths ? "signal 9" : nil
        let before = items
        let decisions = WorkPlanner(retryFailed: false, previousDeath: death)
            .decide(Self.sources, known: flaw == .doesAllAnew ? [:] : known, foreign: []) { item in
                [.old, .new, .whole].contains(before[Int(item.id)].final)
            }
        for (index, decision) in decisions.enumerated() {
            let entry = decision.entry
            items[index].row = Row(state: entry.state, deaths: entry.deaths, isOld: false, exists: true)
            items[index].isSuspect = decision.suspect
            items[index].place = decision.work ? .queued : .out
            if items[index].diedInFlight { items[index].blame += 1 }
            items[index].diedInFlight = false
        }
        flushJournal()
        phase = .stocked
    }

    /// Finished folders that the journal does not know are adopted; then the rest is lined up, suspects first.
    private mutating func adopt() {
        // The rename may be all that the dead engine came to: its flush is made up for before it is recorded.
        if flaw != .adoptsBeforeTheFolderIsFlushed { flushFolder() }
        for index in items.indices {
            // One that died for the second time may have died after its work was done.
            let isLate = items[index].row.state == .quarantined && flaw != .quarantinesTheFinished
            guard items[index].place == .queued || isLate else { continue }
            let final = items[index].final
            let fits = flaw == .adoptsAnything ? final != .none : final == .new || final == .whole
            guard fits, flaw != .neverAdopts else { continue }
            complete(index)
            items[index].place = .out
        }
        flushJournal()
        let waiting = indices(at: .queued)
        queue = waiting.filter { items[$0].isSuspect } + waiting.filter { !items[$0].isSuspect }
        endOrGoOn()
    }

    private mutating func complete(_ index: Int) {
        items[index].row.state = .completed
        items[index].row.deaths = 0
        items[index].blame = 0
        items[index].wasCommitted = true
    }

    private mutating func start() -> String? {
        guard let index = startable else { return "nothing to start" }
        queue.removeFirst()
        if items[index].wasCommitted { return "done again after its commit" }
        if items[index].final == .whole { return "done again though its result was in place" }
        items[index].place = .inFlight
        // Not flushed: a power cut may forget it.
        items[index].row.state = .started
        if inFlight.count > 1 && inFlight.contains(where: { items[$0].blame > 0 }) {
            return "a suspect runs beside another item"
        }
        return nil
    }

    private mutating func renameNext() {
        guard let index = indices(at: .inGroup).first else { return }
        if items[index].final != .none && !exchanges {
            // Two renames: the old one goes out of the way first.
            items[index].final = .none
            return
        }
        items[index].final = items[index].staged
        items[index].staged = .none
        items[index].place = .renamed
    }

    /// In one durable transaction, which carries the marks before it to the disk as well.
    private mutating func record() {
        for index in items.indices where [.inGroup, .renamed].contains(items[index].place) { complete(index) }
        flushJournal()
    }

    private mutating func crash(_ crash: Crash) {
        switch crash {
        case .death:
            for index in items.indices where items[index].row.state == .started { items[index].diedInFlight = true }
            leave(.orphaned)
        case .kill:
            for index in items.indices { items[index].diedInFlight = false }
            leave(.absent)
        case .powerCut(let keeping):
            for index in items.indices {
                items[index].diedInFlight = false
                items[index].row = items[index].durableRow
                if !keeping[index] { items[index].final = items[index].durableFinal }
                if items[index].final == .new { items[index].final = .damaged }
                items[index].durableFinal = items[index].final
                if items[index].staged == .new { items[index].staged = .damaged }
            }
            leave(.absent)
        }
    }

    /// Past taking stock, and not yet dead.
    private var isAtWork: Bool { ![.absent, .orphaned, .stocked].contains(phase) }

    var fault: String? {
        for item in items {
            if item.wasCommitted && item.durableRow.state != .completed { return "a commit was lost" }
            // Held against what a power cut would leave at this very moment.
            if item.durableRow.state == .completed && !item.durableRow.isOld && item.durableFinal != .whole {
                return "recorded as completed, and the files are not safe"
            }
            if item.row.state == .quarantined && item.blame < 2 { return "quarantined before its second death" }
            if item.row.state == .quarantined && item.final == .whole && isAtWork {
                return "quarantined though its result is in place"
            }
            if item.blame > 2 { return "died with the engine a third time" }
        }
        return nil
    }

    /// With no crash any more every item ends completed, or quarantined after two deaths.
    mutating func settle() -> String? {
        var left = 40
        while let step = steps.first {
            if let words = make(step) ?? fault { return words }
            left -= 1
            if left == 0 { return "comes to no end" }
        }
        let good = items.allSatisfy { $0.row.state == .completed || $0.row.state == .quarantined }
        return good ? nil : "an item was lost"
    }
}
