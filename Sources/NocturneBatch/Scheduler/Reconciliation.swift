import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Brings discovery and journal together before a run: what is done, what is to be done, and what is never to be.
///
/// Runs before the scheduler exists, so the journal still has one writer at a time.
struct Reconciliation {
    let recipes: [any Recipe]
    let journal: Journal
    let output: OutputFolder
    let control: RunControl
    let progress: ProgressReporter
    let threads: Int
    /// Whether the batch goes on with other inputs or options than it was begun with.
    let descriptionChanged: Bool
    /// Whether to tell again what the journal has known since before.
    let tellsAll: Bool
    let trace: DiscoveryTrace

    /// Records what is new, and says what is to be worked on, suspects first.
    /// - Throws: `CancelledError` when the run is to stop; errors of the journal.
    func run(_ discovery: Discovery, planner: WorkPlanner) async throws -> [PendingItem] {
        let known = Dictionary(uniqueKeysWithValues: try journal.items().map { ($0.key, $0) })
        let files = try journal.files()
        let foreign = foreignEntries(known)
        let decisions = try planner.decide(discovery.items, known: known, foreign: foreign) { item in
            try check()
            guard let recorded = files[item.id] else { return false }
            return output.holdsResult(item.name)
                && recorded.allSatisfy { FileSystem.size(output.item(item.name) + "/" + $0.path) == $0.bytes }
        }
        for note in discovery.notes + decisions.compactMap(\.note) { await progress.note(note) }
        try journal.record(decisions.filter { isNew($0, known) }.map(\.entry))
        try settleVanished(discovery, known: known)
        let (queue, adopted) = try queue(decisions)
        cleanStaging(keeping: Set(queue.map(\.name)))
        try await begin(queue)
        await report(
            decisions.filter { !adopted.contains($0.entry.item.key) && (tellsAll || isNew($0, known)) }
        )
        return queue
    }

    private func check() throws(CancelledError) {
        if control.mode == .cancelled { throw CancelledError() }
    }

    /// What lies in the output folder and is no result of ours: no item may take its name.
    private func foreignEntries(_ known: [String: JournalItem]) -> Set<String> {
        let ours = Set(known.values.map(\.name))
        return Set(
            FileSystem.entries(output.path).filter { entry in
                !ours.contains(entry) && !output.holdsResult(entry)
            }
        )
    }

    private func isNew(_ decision: WorkPlanner.Decision, _ known: [String: JournalItem]) -> Bool {
        guard !decision.reused else { return false }
        let entry = decision.entry
        guard let before = known[entry.item.key] else { return true }
        return before.state != entry.state || before.reason != entry.reason || before.deaths != entry.deaths
            || before.fingerprint != entry.item.fingerprint.hex
    }

    /// Items that wait, and that this run did not find: they go on waiting, unless the batch itself was changed. What could
    /// not be looked into, and now can be, is an item no longer; nor is a file that was unfit and is now part of an item.
    private func settleVanished(_ discovery: Discovery, known: [String: JournalItem]) throws {
        let found = Set(discovery.items.map(\.key))
        let opened = known.values.filter {
            $0.key.hasPrefix(DiscoveredItem.missedKeyPrefix) && !found.contains($0.key) && $0.state != .skipped
        }
        try journal.settle(opened.map(\.id), as: .skipped, reason: "has been looked into since", at: Timestamp.now())
        let unfit = known.values.filter {
            $0.key.hasPrefix(DiscoveredItem.fileKeyPrefix) && !found.contains($0.key) && $0.state == .failed
        }
        if !unfit.isEmpty {
            let parts = Set(discovery.items.filter { $0.problem == nil }.flatMap { $0.inputs.map(\.path) })
            let mended = unfit.filter { parts.contains($0.path) }
            let reason = "is part of another item since"
            try journal.settle(mended.map(\.id), as: .skipped, reason: reason, at: Timestamp.now())
        }
        guard descriptionChanged else { return }
        let vanished = known.values.filter { !found.contains($0.key) && $0.state != .completed }
        try journal.settle(
            vanished.map(\.id),
            as: .skipped,
            reason: "no longer among the inputs",
            at: Timestamp.now()
        )
    }

    /// What is to be worked on, suspects first, and the keys of what was found finished.
    private func queue(_ decisions: [WorkPlanner.Decision]) throws -> (queue: [PendingItem], adopted: Set<String>) {
        let ids = Dictionary(uniqueKeysWithValues: try journal.items().map { ($0.key, $0.id) })
        var adopted: [(Int64, ItemProduct)] = []
        var keys: Set<String> = []
        var queue: [PendingItem] = []
        for decision in decisions where decision.work || decision.entry.state == .quarantined {
            try check()
            let entry = decision.entry
            guard let id = ids[entry.item.key] else { continue }
            let folder = output.item(entry.name)
            // A crash between the rename and the journal leaves a finished folder that the journal does not know.
            if output.holdsResult(entry.name),
                let product = try? recipes[entry.item.recipe].adopt(
                    folder: folder,
                    fingerprint: entry.item.fingerprint.hex
                )
            {
                adopted.append((id, product))
                keys.insert(entry.item.key)
                continue
            }
            guard decision.work else { continue }
            queue.append(
                PendingItem(
                    id: id,
                    recipe: entry.item.recipe,
                    model: entry.item.model,
                    name: entry.name,
                    source: entry.item.source,
                    path: entry.item.path,
                    fingerprint: entry.item.fingerprint.hex,
                    inputs: entry.item.inputs,
                    suspect: decision.suspect
                )
            )
        }
        if !adopted.isEmpty {
            // Their renames may not have reached the disk.
            try FileSystem.flush(output.path)
            try journal.complete(adopted, at: Timestamp.now())
        }
        return (queue.filter(\.suspect) + queue.filter { !$0.suspect }, keys)
    }

    private func cleanStaging(keeping names: Set<String>) {
        for name in FileSystem.entries(output.staging) {
            // Checkpoints of what goes on are in folders; a link is none of ours.
            let isKept = names.contains(name) && FileSystem.kind(output.staging(name)) == .folder
            if !isKept { FileSystem.remove(output.staging(name)) }
        }
    }

    private func begin(_ queue: [PendingItem]) async throws {
        let counts = BatchCounts(of: try journal.items())
        var steps = 0
        for work in queue {
            try check()
            trace.look(at: work.inputs.map(\.path))
            let plan = try? recipes[work.recipe].plan(source: work.source, threads: threads, lean: false)
            steps += plan?.steps ?? 1
        }
        trace.end()
        await progress.begin(
            total: counts.inputs - counts.skipped,
            alreadyDone: counts.inputs - counts.skipped - queue.count,
            failed: counts.failed + counts.quarantined,
            steps: steps
        )
    }

    private func report(_ decisions: [WorkPlanner.Decision]) async {
        for decision in decisions where !decision.reused && !decision.work {
            let entry = decision.entry
            let kinds: [ItemState: BatchEvent.Kind] = [
                .failed: .itemFailed, .skipped: .itemSkipped, .quarantined: .itemQuarantined,
            ]
            if let kind = kinds[entry.state] {
                await progress.emit(BatchEvent(kind, item: entry.name, reason: entry.reason))
            }
        }
    }
}
