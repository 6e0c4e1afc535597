package import NocturneConcurrency
import NocturneCore
package import NocturneJournal
package import NocturneSystem

/// Compares discovery with the journal before a run: what is done, what is to be done, and what never will be.
///
/// It runs before the scheduler exists. Everything that touches files runs on the blocking pool.
package struct Reconciliation: Sendable {
    private let recipes: [any Recipe]
    private let journal: Journal
    private let output: OutputFolder
    private let blocking: BlockingPool
    private let control: RunControl
    private let progress: ProgressReporter
    private let options: Options

    package struct Options: Sendable {
        package var threads: Int
        /// Whether the batch continues with other inputs or options than it was started with.
        package var descriptionChanged = false
        /// Whether to report again what the journal had before this run.
        package var reportsAll = true
        package var trace = DiscoveryTrace()
        package var time: any TimeSource = SystemTime()

        package init(threads: Int) { self.threads = threads }
    }

    package init(
        recipes: [any Recipe],
        journal: Journal,
        output: OutputFolder,
        blocking: BlockingPool,
        control: RunControl,
        progress: ProgressReporter,
        options: Options
    ) {
        self.recipes = recipes
        self.journal = journal
        self.output = output
        self.blocking = blocking
        self.control = control
        self.progress = progress
        self.options = options
    }

    /// Records what is new, and lists what is to be processed, suspects first.
    /// - Throws: `CancelledError` when the run is to stop; errors of the journal.
    package func run(_ discovery: Discovery, planner: WorkPlanner) async throws -> ItemQueue {
        try check()
        try await blocking.run { try output.restoreReplaced() }
        let recorded = try await withTaskExecutorPreference(blocking) {
            try await RecordedItems(journal, output) { try check() }
        }
        let known = recorded.items
        let decisions = try await blocking.run {
            try recorded.decide(discovery.items, recipes, planner) { try check() }
        }
        for note in discovery.notes + decisions.compactMap(\.note) { await progress.note(note) }
        try await record(decisions, known)
        try await settleVanished(discovery, known: known)
        let (queue, steps, recognized) = try await queue(decisions)
        try await start(queue, steps: steps)
        await report(
            decisions.lazy.filter { !recognized.contains($0.item.key) && (options.reportsAll || $0.changes(known)) }
        )
        return queue
    }

    /// Records what is new, some thousands at a time and in order: after an interruption the rest gets the same names.
    private func record(_ decisions: [WorkPlanner.Decision], _ known: [String: JournalItem]) async throws {
        var entries: [JournalEntry] = []
        for decision in decisions where decision.changes(known) {
            entries.append(decision.entry)
            guard entries.count == Self.entriesPerTransaction else { continue }
            try await journal.record(entries)
            entries.removeAll(keepingCapacity: true)
        }
        if !entries.isEmpty { try await journal.record(entries) }
    }

    private static let entriesPerTransaction = 4096

    private var now: String { options.time.wallClock.timestamp }

    private func check() throws(CancelledError) {
        if control.mode == .cancelled { throw CancelledError() }
    }

    /// Items that wait, and that this run did not find, keep waiting, unless the description of the batch has changed. A
    /// folder that could not be read, and now can be, is no longer an item, nor is a file that was unsuitable and is now part
    /// of an item.
    private func settleVanished(_ discovery: Discovery, known: [String: JournalItem]) async throws {
        let found = Set(discovery.items.map(\.key))
        func settle(_ items: [JournalItem], _ reason: ItemReason) async throws {
            try await journal.settle(items.map(\.id), as: .skipped, reason: reason, at: now)
        }
        let opened = known.values.filter {
            $0.key.hasPrefix(DiscoveredItem.missedKeyPrefix) && !found.contains($0.key) && $0.state != .skipped
        }
        try await settle(opened, .discovered(.vanished, "the folder is readable again"))
        let unfit = known.values.filter {
            $0.key.hasPrefix(DiscoveredItem.fileKeyPrefix) && !found.contains($0.key) && $0.state == .failed
        }
        if !unfit.isEmpty {
            let parts = Set(discovery.items.filter { $0.problem == nil }.flatMap { $0.inputs.map(\.path) })
            try await settle(
                unfit.filter { parts.contains($0.path) },
                .discovered(.partOfOther, "is now part of another item")
            )
        }
        guard options.descriptionChanged else { return }
        let vanished = known.values.filter { !found.contains($0.key) && $0.state != .completed }
        try await settle(vanished, .discovered(.vanished, "no longer among the inputs"))
    }

    // MARK: The queue

    /// What is to be processed, suspects first, with its number of steps, and the keys of items whose results were found
    /// finished.
    private func queue(_ decisions: [WorkPlanner.Decision]) async throws -> (
        queue: ItemQueue, steps: Int, recognized: Set<String>
    ) {
        // There may be a million decisions: places, not copies.
        let candidates = decisions.indices.filter { decisions[$0].work || decisions[$0].state == .quarantined }
        var ids: [Int64?] = []
        for start in stride(from: 0, to: candidates.count, by: Self.entriesPerTransaction) {
            try check()
            let portion = candidates[start...].prefix(Self.entriesPerTransaction)
            ids += try await journal.ids(of: portion.map { decisions[$0].item.key })
        }
        let products = try await blocking.run { [ids] () throws -> [Int: ItemProduct] in
            var products: [Int: ItemProduct] = [:]
            for (place, id) in zip(candidates, ids) where id != nil {
                try check()
                products[place] = finishedResult(of: decisions[place])
            }
            // Their renames may not have reached the disk.
            if !products.isEmpty { try FileSystem.flush(output.path) }
            return products
        }
        let recognized = zip(candidates, ids).compactMap { place, id in
            id.flatMap { id in products[place].map { (id: id, product: $0) } }
        }
        if !recognized.isEmpty { try await journal.complete(recognized, at: now) }
        let work = zip(candidates, ids).filter { decisions[$0.0].work && products[$0.0] == nil }
        let suspects = work.filter { decisions[$0.0].suspect }
        let ordered = suspects.isEmpty ? work : suspects + work.filter { !decisions[$0.0].suspect }
        let (queue, steps) = try await blocking.run { () throws -> (ItemQueue, Int) in
            let items = ordered.lazy.compactMap { place, id in
                id.map { id in
                    var item = PendingItem(decisions[place], id: id)
                    item.hasEarlierResult = output.holdsResult(item.name)
                    return item
                }
            }
            return (ItemQueue(items), try countSteps(work.lazy.map { decisions[$0.0].item }))
        }
        return (queue, steps, Set(products.keys.map { decisions[$0].item.key }))
    }

    /// A crash between the rename and the journal leaves a finished folder that the journal does not have.
    private func finishedResult(of decision: WorkPlanner.Decision) -> ItemProduct? {
        guard output.holdsResult(decision.name) else { return nil }
        let (item, folder) = (decision.item, output.item(decision.name))
        return try? recipes[item.recipe].recognize(folder: folder, fingerprint: item.fingerprint.hex)
    }

    /// Cleans up the staging folder, and tells progress how much there is to do.
    private func start(_ queue: ItemQueue, steps: Int) async throws {
        let counts = BatchCounts(try await journal.stateCounts())
        await blocking.run { cleanStaging(keeping: queue) }
        await progress.begin(
            total: counts.inputs - counts.skipped,
            alreadyDone: counts.inputs - counts.skipped - queue.count,
            failed: counts.failed + counts.quarantined,
            steps: steps
        )
    }

    private func cleanStaging(keeping queue: ItemQueue) {
        FileSystem.remove(output.arrived)
        let entries = FileSystem.entries(output.staging)
        let names = queue.names(among: Set(entries))
        for name in entries {
            // Checkpoints of items that continue are in folders; a link is not ours.
            let isKept = names.contains(name) && FileSystem.kind(output.staging(name)) == .folder
            if !isKept { FileSystem.remove(output.staging(name)) }
        }
    }

    private func countSteps(_ items: some Sequence<DiscoveredItem>) throws -> Int {
        var steps = 0
        for item in items {
            try check()
            options.trace.willRead(item.inputs.map(\.path))
            let plan = try? recipes[item.recipe].plan(source: item.source, threads: options.threads, lean: false)
            steps += plan?.steps ?? 1
        }
        options.trace.end()
        return steps
    }

    // MARK: Reporting

    private func report(_ decisions: some Sequence<WorkPlanner.Decision>) async {
        var skips: [String] = []
        for decision in decisions where !decision.reused && !decision.work {
            let kinds: [ItemState: BatchEvent.Kind] = [
                .failed: .itemFailed, .skipped: .itemSkipped, .quarantined: .itemQuarantined,
            ]
            if decision.state == .skipped { skips.append(decision.reason?.text ?? "") }
            if let kind = kinds[decision.state] {
                await progress.emit(BatchEvent(kind, item: decision.name, because: decision.reason))
            }
        }
        if let text = StartText.skips(skips) { await progress.note(text) }
    }
}

extension WorkPlanner.Decision {
    /// Whether the journal has to be told of it.
    fileprivate func changes(_ known: [String: JournalItem]) -> Bool {
        guard !reused else { return false }
        guard let before = known[item.key] else { return true }
        return before.state != state || before.reason != reason || before.crashes != crashes
            || before.fingerprint != item.fingerprint.hex || before.words != item.words
    }
}

extension PendingItem {
    fileprivate init(_ decision: WorkPlanner.Decision, id: Int64) {
        self.init(
            id: id,
            recipe: decision.item.recipe,
            model: decision.item.model,
            name: decision.name,
            inputs: decision.item.packedInputs,
            suspect: decision.suspect,
            edit: decision.edit
        )
    }
}
