import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What the engine does, and what is left of it when it ends.
extension CommitWorld {
    mutating func flushJournal() { for index in items.indices { items[index].durableRow = items[index].row } }

    mutating func flushFolder() {
        for index in items.indices {
            items[index].durableFinal = items[index].final
            items[index].durableReplaced = items[index].replaced
        }
    }

    mutating func endOrGoOn() {
        phase = queue.isEmpty && inFlight.isEmpty ? .ended : .working
    }

    mutating func leave(_ next: Phase) {
        phase = next
        queue = []
        committer = Self.newCommitter(flaw)
        for index in items.indices { (items[index].place, items[index].isSuspect) = (.out, false) }
    }

    /// As the journal would tell it.
    private func journalItems() -> [JournalItem] {
        Self.sources.indices.filter { items[$0].row.exists }.map { index in
            let (source, row) = (Self.sources[index], items[index].row)
            var item = JournalItem(
                id: Int64(index),
                key: source.key,
                name: source.name,
                path: source.path,
                fingerprint: row.isOld ? "old" : source.fingerprint.hex,
                state: row.state
            )
            item.crashes = row.crashes
            return item
        }
    }

    /// As the engine does before anything else: what was active waits again, in one durable transaction.
    private mutating func takeBack() {
        let knowsDeath = isRestart && (journalKnowsSupervisor || flaw == .blamesForOtherSupervisors)
        let death = knowsDeath && flaw != .forgetsDeaths ? "signal 9" : nil
        for item in CrashRecoveryStateMachine.requeued(journalItems(), crash: death) {
            items[Int(item.id)].row.state = item.state
            items[Int(item.id)].row.crashes = item.crashes
        }
        for index in items.indices {
            if items[index].diedInFlight { items[index].blame += 1 }
            items[index].diedInFlight = false
        }
        journalKnowsSupervisor = true
        flushJournal()
    }

    mutating func open() {
        isRestart = phase == .orphaned
        takeBack()
        phase = .opened
    }

    /// As `Reconciliation` does: the planner decides, and what is new is recorded in one durable transaction.
    mutating func takeStock() {
        if items.contains(where: { $0.replaced != .none }) {
            restoreReplaced()
            // What is left has been replaced by a result that is in its place; for ever, once that is on the disk.
            flushFolder()
            for index in items.indices { items[index].replaced = .none }
        }
        let known = flaw == .doesAllAnew ? [] : journalItems()
        let planner = WorkPlanner(retries: .none)
        let decisions = Self.sources.map { source in
            let before = known.first { $0.key == source.key }
            return planner.decide(source, before: before, name: { (source.name, nil) }) {
                before.map { [.old, .new, .whole].contains(items[Int($0.id)].final) } ?? false
            }
        }
        for (index, decision) in decisions.enumerated() {
            let entry = decision.entry
            items[index].row = Row(state: entry.state, crashes: entry.crashes, isOld: false, exists: true)
            items[index].isSuspect = decision.suspect
            items[index].place = decision.work ? .queued : .out
        }
        flushJournal()
        phase = .stocked
    }

    /// Finished folders that the journal does not know are recognized; then the rest is lined up, suspects first.
    mutating func recognize() {
        // The rename may be all that the dead engine came to: its flush is made up for before it is recorded.
        if flaw != .recognizesBeforeTheFolderIsFlushed { flushFolder() }
        for index in items.indices {
            // One that died for the second time may have died after its work was done.
            let isLate = items[index].row.state == .quarantined && flaw != .quarantinesTheFinished
            guard items[index].place == .queued || isLate else { continue }
            let final = items[index].final
            let fits = flaw == .recognizesAnything ? final != .none : final == .new || final == .whole
            guard fits, flaw != .neverRecognizes else { continue }
            complete(index)
            items[index].place = .out
        }
        flushJournal()
        let waiting = indices(at: .queued)
        queue = waiting.filter { items[$0].isSuspect } + waiting.filter { !items[$0].isSuspect }
        endOrGoOn()
    }

    mutating func complete(_ index: Int) {
        items[index].row.state = .completed
        items[index].row.crashes = 0
        items[index].blame = 0
        items[index].wasCommitted = true
    }

    mutating func start() -> String? {
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

    /// Whether what the committer does next is done for several items, which it then tries one by one.
    var canFailTogether: Bool {
        var committer = committer
        return committer.next() != .wait && committer.failed().isEmpty
    }

    /// Performs the committer's next action, or one of two steps of it.
    mutating func commit() {
        switch committer.next() {
        case .wait: break
        case .cleanUp(let group): for index in group { items[index].replaced = .none }
        case .flush(let group): for index in group { items[index].staged = .whole }
        case .place(let index):
            if items[index].final != .none && !exchanges {
                // Two renames: the old one goes out of the way first.
                items[index].replaced = items[index].final
                items[index].final = .none
                return
            }
            if items[index].final != .none { items[index].replaced = items[index].final }
            items[index].final = items[index].staged
            items[index].staged = .none
        case .flushParent: flushFolder()
        case .record(let group):
            // In one durable transaction, which carries the marks before it to the disk as well.
            for index in group { complete(index) }
            flushJournal()
        }
        for index in committer.succeeded() { items[index].place = .out }
        endOrGoOn()
    }

    /// Results that had left their places when the engine ended go back.
    private mutating func restoreReplaced() {
        guard flaw != .forgetsReplaced else { return }
        for index in items.indices where items[index].final == .none {
            items[index].final = items[index].replaced
            items[index].replaced = .none
        }
    }

    mutating func crash(_ crash: Crash) {
        switch crash {
        case .death:
            for index in inFlight where items[index].row.state == .started { items[index].diedInFlight = true }
            leave(.orphaned)
        case .kill:
            journalKnowsSupervisor = false
            for index in items.indices { items[index].diedInFlight = false }
            leave(.absent)
        case .powerCut(let keeping):
            journalKnowsSupervisor = false
            for index in items.indices {
                items[index].diedInFlight = false
                items[index].row = items[index].durableRow
                if !keeping[index] {
                    items[index].final = items[index].durableFinal
                    items[index].replaced = items[index].durableReplaced
                }
                if items[index].final == .new { items[index].final = .damaged }
                items[index].durableFinal = items[index].final
                items[index].durableReplaced = items[index].replaced
                if items[index].staged == .new { items[index].staged = .damaged }
            }
            leave(.absent)
        }
    }
}
