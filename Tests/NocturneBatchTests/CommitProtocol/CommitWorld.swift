import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneSystem
import NocturneTestSupport

/// Mistakes the way from a finished item to its record could be written with.
enum CommitFlaw: CaseIterable {
    case recordsBeforeRenaming, renamesUnflushed, recordsBeforeTheFolderIsFlushed, neverRecognizes, recognizesAnything
    case forgetsReplaced
    case recognizesBeforeTheFolderIsFlushed, quarantinesTheFinished
    case forgetsDeaths, suspectsBesideOthers, doesAllAnew
    case blamesForOtherSupervisors

    /// The steps of a commit as the machine takes them.
    var commitSteps: [CommitStateMachine<Int>.Step] {
        switch self {
        case .recordsBeforeRenaming: [.flush, .record, .place, .flushParent, .cleanUp]
        case .renamesUnflushed: [.place, .flushParent, .record, .cleanUp]
        case .recordsBeforeTheFolderIsFlushed: [.flush, .place, .record, .flushParent, .cleanUp]
        default: CommitStateMachine<Int>.Step.allCases
        }
    }
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
/// What is decided, ``WorkPlanner`` and ``CommitStateMachine`` decide, the very ones of the engine. Here is what their
/// actions do to a disk: what reaches it only with a flush is kept twice, as it looks and as a power cut would leave it.
struct CommitWorld: SmallWorld {
    enum Phase: UInt8 {
        /// No engine; or a supervisor that knows how the last one died.
        case absent, orphaned
        /// The journal is open and what was active taken back; inputs are looked at.
        case opened
        /// Decisions are recorded, finished folders not yet recognized.
        case stocked
        case working
        case ended
    }

    /// `written`: handed to the committer.
    enum Place: UInt8 { case out, queued, inFlight, written }

    /// How an engine ends that was not asked to.
    enum Crash {
        /// It dies, and its supervisor starts another.
        case death
        /// Both are killed.
        case kill
        /// Of the renames that were not flushed, these items' survive.
        case powerCut(keeping: [Bool])
    }

    enum Move {
        case begin, stock, recognize, start, write(Int), commit, commitFails, interrupt, crash(Crash)
    }

    struct Row: Hashable {
        var state = ItemState.pending
        var crashes = 0
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
        /// The result that has left its place for another, on file systems that need two steps.
        var replaced = Content.none
        var durableReplaced = Content.none
        // Of the engine that runs.
        var place = Place.out
        var isSuspect = false
        // Of the onlooker: whether it was active when an engine died, and how often that was put on record.
        var diedInFlight = false
        var blame = 0
        var wasCommitted = false
        var hadResult = false
    }

    struct Key: Hashable {
        let phase: Phase
        let items: [Item]
        let queue: [Int]
        let committer: CommitStateMachine<Int>
        let isRestart: Bool
        let journalKnowsSupervisor: Bool
    }

    var items: [Item]
    var phase = Phase.absent
    var queue: [Int] = []
    var committer: CommitStateMachine<Int>
    /// Whether the engine that runs was started because another died.
    var isRestart = false
    /// Whether this supervisor's engines have come as far as the journal before.
    var journalKnowsSupervisor = false
    let flaw: CommitFlaw?
    /// Whether the file system can exchange two names in one step.
    let exchanges: Bool

    static let sources = ["a", "b"].map {
        DiscoveredItem(key: $0, name: $0, model: "m", path: $0, fingerprint: .of($0 + " new"))
    }

    /// - Parameter hasOldResult: whether the first item was completed before its source changed.
    init(hasOldResult: Bool, exchanges: Bool, flaw: CommitFlaw? = nil) {
        (self.exchanges, self.flaw) = (exchanges, flaw)
        committer = Self.newCommitter(flaw)
        items = [Item(), Item()]
        if hasOldResult {
            let row = Row(state: .completed, crashes: 0, isOld: true, exists: true)
            items[0] = Item(row: row, durableRow: row, final: .old, durableFinal: .old, hadResult: true)
        }
    }

    static func newCommitter(_ flaw: CommitFlaw?) -> CommitStateMachine<Int> {
        flaw.map { CommitStateMachine(steps: $0.commitSteps) } ?? CommitStateMachine()
    }

    var key: Key {
        Key(
            phase: phase,
            items: items,
            queue: queue,
            committer: committer,
            isRestart: phase == .opened && isRestart,
            journalKnowsSupervisor: journalKnowsSupervisor
        )
    }

    func indices(at place: Place) -> [Int] { items.indices.filter { items[$0].place == place } }

    var inFlight: [Int] { items.indices.filter { items[$0].place.rawValue >= Place.inFlight.rawValue } }

    /// The first in line, if it may go: suspects go alone.
    var startable: Int? {
        guard let first = queue.first else { return nil }
        let mixed = items[first].isSuspect || inFlight.contains { items[$0].isSuspect }
        return mixed && !inFlight.isEmpty && flaw != .suspectsBesideOthers ? nil : first
    }

    /// What the engine can do next by itself.
    private var steps: [Move] {
        switch phase {
        case .absent, .orphaned: return [.begin]
        case .opened: return [.stock]
        case .stocked: return [.recognize]
        case .ended: return []
        case .working: break
        }
        var steps: [Move] = startable == nil ? [] : [.start]
        steps += indices(at: .inFlight).map(Move.write)
        if !committer.isIdle { steps.append(.commit) }
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
        // What the committer has begun it brings to its end.
        if phase == .working && committer.isIdle { moves.append(.interrupt) }
        if phase == .working && canFailTogether { moves.append(.commitFails) }
        if phase == .ended { moves.append(.begin) }
        return moves
    }

    mutating func make(_ move: Move) -> String? {
        switch move {
        case .begin: open()
        case .stock: takeStock()
        case .recognize: recognize()
        case .start: return start()
        case .write(let index):
            items[index].staged = .new
            items[index].place = .written
            committer.add(index)
        case .commit: commit()
        case .commitFails:
            _ = committer.next()
            _ = committer.failed()
        case .interrupt:
            for index in inFlight { items[index].row.state = .pending }
            flushJournal()
            leave(.absent)
            journalKnowsSupervisor = false
        case .crash(let crash): self.crash(crash)
        }
        return nil
    }

    /// Past taking stock, and not yet dead.
    private var isAtWork: Bool { ![.absent, .orphaned, .opened, .stocked].contains(phase) }

    var fault: String? {
        for item in items {
            if item.wasCommitted && item.durableRow.state != .completed { return "a commit was lost" }
            // Held against what a power cut would leave at this very moment.
            if item.durableRow.state == .completed && !item.durableRow.isOld && item.durableFinal != .whole {
                return "recorded as completed, and the files are not safe"
            }
            if item.hadResult && item.final == .none && item.replaced == .none {
                return "the result of before is lost though there is no other"
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
