package import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Decides what a start of the engine does about how the engine before it ended.
///
/// A crash counts against the items that were active: after the first one an item is processed alone, after the second
/// it is quarantined. Two crashes while discovery reads the same file exclude that file. Three crashes in a row with
/// no item active end the batch.
package struct CrashRecoveryStateMachine: Sendable {
    /// Crashes after which an item is quarantined.
    package static let mostCrashesOfItem = 2
    /// Crashes in a row without an active item after which the batch ends.
    package static let mostCrashesOutsideItems = 3

    /// What the journal holds when the engine starts.
    package struct JournalFacts: Sendable {
        /// Those that it has as active, and any others.
        package var items: [JournalItem]
        /// The supervisor whose engine worked on the batch last.
        package var supervisor: String?
        /// How often engines crashed in a row while no item was active.
        package var crashesOutsideItems: Int
        /// Files at which engines of this run crashed during discovery.
        package var crashingFiles: CrashingFiles
        /// Files that did not respond to earlier engines of this run.
        package var unresponsiveFiles: [String]

        /// - Parameters:
        ///   - items: those that the journal has as active, and any others.
        ///   - supervisor: whose engine worked on the batch last; nil without one.
        ///   - crashesOutsideItems: in a row.
        ///   - crashingFiles: of this run.
        ///   - unresponsiveFiles: of this run.
        package init(
            items: [JournalItem],
            supervisor: String? = nil,
            crashesOutsideItems: Int = 0,
            crashingFiles: CrashingFiles = CrashingFiles(),
            unresponsiveFiles: [String] = []
        ) {
            self.items = items
            self.supervisor = supervisor
            self.crashesOutsideItems = crashesOutsideItems
            self.crashingFiles = crashingFiles
            self.unresponsiveFiles = unresponsiveFiles
        }
    }

    /// What is to be done at the start, in this order.
    package enum StartAction: Sendable, Equatable {
        /// Record that these items, found active, wait again, with their numbers of crashes.
        case requeue([JournalItem])
        case saveSupervisor(String)
        case saveCrashingFiles(CrashingFiles)
        case saveCrashesOutsideItems(Int)
        case saveUnresponsiveFiles([String])
        /// Report it to the user.
        case report(String)
        /// End the batch for this reason.
        case endBatch(String)
    }

    /// What is to be done with an item that discovery found and that is not finished.
    package enum ItemAction: Sendable, Equatable {
        case process
        /// Before all others, with no other item at the same time.
        case processAlone
        case quarantine
    }

    /// What discovery must not do in this run.
    package struct DiscoveryLimits: Sendable, Equatable {
        /// Files that are not to be read, with the reason.
        package var excludedFiles: [String: String] = [:]
        /// Files that did not respond to an earlier engine of this run: not to be opened.
        package var unresponsiveFiles: [String] = []
        /// Whether files are read one after the other, so that a second crash identifies the file.
        package var readsOneByOne = false

        /// No limits: the first engine of a run.
        package init() {}
    }

    private let supervisor: String?
    private let crash: String?
    private var crashesOutsideItems = 0

    /// Known after ``engineStarted(_:reading:)``.
    package private(set) var discoveryLimits = DiscoveryLimits()

    /// - Parameters:
    ///   - supervisor: of this engine; nil without one.
    ///   - crash: how the engine before this one crashed; nil when this is the first engine of the run.
    package init(supervisor: String?, crash: String?) {
        self.supervisor = supervisor
        self.crash = crash
    }

    // MARK: Inputs

    /// The engine has started and read the journal, before anything else is done: a crash during discovery is then one with
    /// no item active.
    /// - Parameter reading: the files that the threads of the engine before this one were reading during discovery.
    package mutating func engineStarted(_ facts: JournalFacts, reading: [[String]]) -> [StartAction] {
        // Marks left when supervisor and engine were killed together are not evidence about the crash of a later engine.
        let isOurs = facts.supervisor == supervisor
        let requeued = CrashRecoveryStateMachine.requeued(facts.items, crash: isOurs ? crash : nil)
        var actions: [StartAction] = requeued.isEmpty ? [] : [.requeue(requeued)]
        if let supervisor, !isOurs { actions.append(.saveSupervisor(supervisor)) }

        let isOutsideItems = crash != nil && (requeued.isEmpty || !isOurs)
        let files = isOutsideItems ? reading : []
        var crashingFiles = facts.crashingFiles
        var isExplained = !isOutsideItems
        if let crash, !files.isEmpty {
            // A crash that identifies its file does not count towards the end of the batch.
            isExplained = crashingFiles.recordCrash(reading: files, cause: crash)
            actions.append(.saveCrashingFiles(crashingFiles))
        }
        let crashes = isExplained ? 0 : facts.crashesOutsideItems + 1
        let isOver = crashes >= CrashRecoveryStateMachine.mostCrashesOutsideItems
        crashesOutsideItems = isOver ? 0 : crashes
        if crashes != facts.crashesOutsideItems { actions.append(.saveCrashesOutsideItems(crashesOutsideItems)) }

        guard let crash else { return actions + forgetEarlierRun(facts) }
        discoveryLimits.excludedFiles = crashingFiles.reasons
        discoveryLimits.unresponsiveFiles = facts.unresponsiveFiles
        discoveryLimits.readsOneByOne = !crashingFiles.suspects.isEmpty
        actions.append(.report(text(of: crash, active: isOutsideItems ? [] : requeued, reading: files)))
        if isOver {
            let reason = "the engine crashed three times while no item was active, the last time: \(crash)"
            actions.append(.endBatch(reason))
        }
        return actions
    }

    /// Discovery has found an item that is to be processed and was active during this number of crashes.
    package static func itemFound(crashes: Int) -> ItemAction {
        crashes >= mostCrashesOfItem ? .quarantine : crashes > 0 ? .processAlone : .process
    }

    /// Items were processed: crashes outside items no longer come in a row.
    /// - Returns: what is to be saved; nil when nothing changes.
    package mutating func itemsProcessed() -> StartAction? {
        guard crashesOutsideItems != 0 else { return nil }
        crashesOutsideItems = 0
        return .saveCrashesOutsideItems(0)
    }

    // MARK: Parts of the decisions

    /// Items that the journal has as active although no engine is running: they wait again, and each has one crash more if
    /// a crash interrupted them.
    package static func requeued(_ items: [JournalItem], crash: String?) -> [JournalItem] {
        items.filter { $0.state == .started }.map { item in
            var item = item
            item.state = .pending
            item.reason = crash.map { ItemReason(.engineCrashed, text: $0) } ?? ItemReason(.interrupted, "interrupted")
            if crash != nil { item.crashes += 1 }
            return item
        }
    }

    /// The first engine of a run tries every file again.
    private func forgetEarlierRun(_ facts: JournalFacts) -> [StartAction] {
        var actions: [StartAction] = []
        if !facts.unresponsiveFiles.isEmpty { actions.append(.saveUnresponsiveFiles([])) }
        if facts.crashingFiles != CrashingFiles() { actions.append(.saveCrashingFiles(CrashingFiles())) }
        return actions
    }

    private func text(of crash: String, active: [JournalItem], reading: [[String]]) -> String {
        let names = listed(active.map(\.name), most: 8)
        let files = reading.compactMap(\.first).prefix(4).joined(separator: ", ")
        return "The engine crashed: \(crash). Active items: \(active.isEmpty ? "none" : names)."
            + (files.isEmpty ? "" : " It may have been reading: \(files).")
    }
}
