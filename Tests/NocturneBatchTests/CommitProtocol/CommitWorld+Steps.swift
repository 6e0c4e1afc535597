import NocturneBatch
import NocturneCore
import NocturneSystem

/// What the engine does, and what is left of it when it ends.
extension CommitWorld {
    mutating func flushJournal() { for index in items.indices { items[index].durableRow = items[index].row } }

    mutating func flushFolder() {
        for index in items.indices { items[index].durableFinal = items[index].final }
    }

    mutating func endOrGoOn() {
        phase = queue.isEmpty && inFlight.isEmpty ? .ended : .working
    }

    mutating func leave(_ next: Phase) {
        phase = next
        queue = []
        for index in items.indices { (items[index].place, items[index].isSuspect) = (.out, false) }
    }

    /// As the journal would tell it.
    private func journalItems() -> [JournalItem] {
        Self.sources.indices.filter { items[$0].row.exists }.map { index in
            let (source, row) = (Self.sources[index], items[index].row)
            return JournalItem(
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
    }

    /// As the engine does before anything else: what was in flight waits again, in one durable transaction.
    private mutating func takeBack() {
        let knowsDeath = isRestart && (journalKnowsSupervisor || flaw == .blamesForOtherSupervisors)
        let death = knowsDeath && flaw != .forgetsDeaths ? "signal 9" : nil
        for item in WorkPlanner(retryFailed: false, previousDeath: death).takenBack(journalItems()) {
            items[Int(item.id)].row.state = item.state
            items[Int(item.id)].row.deaths = item.deaths
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
        let known = Dictionary(uniqueKeysWithValues: journalItems().map { ($0.key, $0) })
        let before = items
        let decisions = WorkPlanner(retryFailed: false, previousDeath: nil)
            .decide(Self.sources, known: flaw == .doesAllAnew ? [:] : known, foreign: []) { item in
                [.old, .new, .whole].contains(before[Int(item.id)].final)
            }
        for (index, decision) in decisions.enumerated() {
            let entry = decision.entry
            items[index].row = Row(state: entry.state, deaths: entry.deaths, isOld: false, exists: true)
            items[index].isSuspect = decision.suspect
            items[index].place = decision.work ? .queued : .out
        }
        flushJournal()
        phase = .stocked
    }

    /// Finished folders that the journal does not know are adopted; then the rest is lined up, suspects first.
    mutating func adopt() {
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

    mutating func complete(_ index: Int) {
        items[index].row.state = .completed
        items[index].row.deaths = 0
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

    mutating func renameNext() {
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
    mutating func record() {
        for index in items.indices where [.inGroup, .renamed].contains(items[index].place) { complete(index) }
        flushJournal()
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
                if !keeping[index] { items[index].final = items[index].durableFinal }
                if items[index].final == .new { items[index].final = .damaged }
                items[index].durableFinal = items[index].final
                if items[index].staged == .new { items[index].staged = .damaged }
            }
            leave(.absent)
        }
    }
}
