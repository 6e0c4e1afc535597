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

    /// What is to be done at the start, in this order.
    package enum StartAction: Sendable, Equatable {
        /// Record that these items, found active, wait again, with their numbers of crashes.
        case requeue([JournalItem])
        case save(CrashRecord)
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

    /// Known after ``engineStarted(_:_:reading:)``.
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
    /// - Parameters:
    ///   - items: those that the journal has as active, and any others.
    ///   - record: of the engines before this one, of this run or an earlier one.
    ///   - reading: the files that the threads of the engine before this one were reading during discovery.
    package mutating func engineStarted(_ items: [JournalItem], _ record: CrashRecord, reading: [[String]])
        -> [StartAction]
    {
        // Marks left when supervisor and engine were killed together are not evidence about the crash of a later engine.
        let isOurs = record.supervisor == supervisor
        let requeued = CrashRecoveryStateMachine.requeued(items, crash: isOurs ? crash : nil)
        var actions: [StartAction] = requeued.isEmpty ? [] : [.requeue(requeued)]
        var next = record
        if let supervisor { next.supervisor = supervisor }

        let isOutsideItems = crash != nil && (requeued.isEmpty || !isOurs)
        let files = isOutsideItems ? reading : []
        var isExplained = !isOutsideItems
        if let crash, !files.isEmpty {
            // A crash that identifies its file does not count towards the end of the batch.
            isExplained = next.crashingFiles.recordCrash(reading: files, cause: crash)
        }
        let crashes = isExplained ? 0 : record.crashesOutsideItems + 1
        let isOver = crashes >= CrashRecoveryStateMachine.mostCrashesOutsideItems
        next.crashesOutsideItems = isOver ? 0 : crashes
        // The first engine of a run tries every file again.
        if crash == nil { (next.crashingFiles, next.unresponsiveFiles) = (CrashingFiles(), []) }
        if next != record { actions.append(.save(next)) }

        guard let crash else { return actions }
        discoveryLimits.excludedFiles = next.crashingFiles.reasons
        discoveryLimits.unresponsiveFiles = next.unresponsiveFiles
        discoveryLimits.readsOneByOne = !next.crashingFiles.suspects.isEmpty
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

    private func text(of crash: String, active: [JournalItem], reading: [[String]]) -> String {
        let names = listed(active.map(\.name), most: 8)
        let files = reading.compactMap(\.first).prefix(4).joined(separator: ", ")
        return "The engine crashed: \(crash). Active items: \(active.isEmpty ? "none" : names)."
            + (files.isEmpty ? "" : " It may have been reading: \(files).")
    }
}
