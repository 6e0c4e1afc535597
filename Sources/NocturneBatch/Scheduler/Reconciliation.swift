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
    package func run(_ discovery: Discovery, planner: WorkPlanner) async throws -> [PendingItem] {
        try check()
        let known = Dictionary(uniqueKeysWithValues: try await journal.items().map { ($0.key, $0) })
        let (files, edits) = (try await journal.files(), try await journal.edits())
        let decisions = try await blocking.run {
            try output.restoreReplaced()
            return try decide(discovery.items, known, files, edits, planner)
        }
        for note in discovery.notes + decisions.compactMap(\.note) { await progress.note(note) }
        try await journal.record(decisions.filter { $0.changes(known) }.map(\.entry))
        try await settleVanished(discovery, known: known)
        let (queue, work, recognized) = try await queue(decisions)
        try await start(queue, work)
        await report(
            decisions.filter { !recognized.contains($0.entry.key) && (options.reportsAll || $0.changes(known)) }
        )
        return queue
    }

    private var now: String { options.time.wallClock.timestamp }

    private func check() throws(CancelledError) {
        if control.mode == .cancelled { throw CancelledError() }
    }

    // MARK: Decisions

    private func decide(
        _ items: [DiscoveredItem],
        _ known: [String: JournalItem],
        _ files: [Int64: [ItemFile]],
        _ edits: [String: LabelEdit],
        _ planner: WorkPlanner
    ) throws -> [WorkPlanner.Decision] {
        try planner.decide(items, known: known, foreign: foreignEntries(known, items), edits: edits) { item in
            try check()
            guard let recorded = files[item.id] else { return false }
            return output.holdsResult(item.name)
                && recorded.allSatisfy { FileSystem.size(output.item(item.name) + "/" + $0.path) == $0.bytes }
        }
    }

    /// What lies in the output folder and is not proven to be ours: no item may take its name. Ours is what the journal
    /// names, and what proves to be a whole result of the item that would have that name; a file called `result.json`
    /// proves nothing.
    private func foreignEntries(_ known: [String: JournalItem], _ items: [DiscoveredItem]) -> Set<String> {
        // No name is given then, and a shard does not look through the results of all others.
        guard items.contains(where: { known[$0.key] == nil }) else { return [] }
        let ours = Set(known.values.map(\.name))
        let others = FileSystem.entries(output.path).filter { !ours.contains($0) }
        guard others.contains(where: output.holdsResult) else { return Set(others) }
        let requested = Dictionary(grouping: items.filter { $0.problem == nil }) { WorkPlanner.safeName($0.name) }
        return Set(
            others.filter { entry in
                guard output.holdsResult(entry), let candidates = requested[entry] else { return true }
                return !candidates.contains { item in
                    let folder = output.item(entry)
                    return (try? recipes[item.recipe].recognize(folder: folder, fingerprint: item.fingerprint.hex))
                        != nil
                }
            }
        )
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

    /// What is to be processed, suspects first, and the keys of items whose results were found finished.
    private func queue(_ decisions: [WorkPlanner.Decision]) async throws -> (
        queue: [PendingItem], work: [WorkPlanner.Decision], recognized: Set<String>
    ) {
        let ids = try await journal.ids()
        let candidates = decisions.filter { $0.work || $0.entry.state == .quarantined }
        let products = try await blocking.run { () throws -> [String: ItemProduct] in
            var products: [String: ItemProduct] = [:]
            for decision in candidates where ids[decision.entry.key] != nil {
                try check()
                products[decision.entry.key] = finishedResult(of: decision)
            }
            // Their renames may not have reached the disk.
            if !products.isEmpty { try FileSystem.flush(output.path) }
            return products
        }
        let recognized = candidates.compactMap { decision in
            products[decision.entry.key].flatMap { product in ids[decision.entry.key].map { (id: $0, product: product) }
            }
        }
        if !recognized.isEmpty { try await journal.complete(recognized, at: now) }
        let work = candidates.filter { $0.work && products[$0.entry.key] == nil && ids[$0.entry.key] != nil }
        let earlier = await blocking.run { Set(work.map(\.entry.name).filter(output.holdsResult)) }
        let queue = work.compactMap { decision in
            ids[decision.entry.key].map { id in
                var item = PendingItem(decision, id: id)
                item.hasEarlierResult = earlier.contains(item.name)
                return item
            }
        }
        return (queue.filter(\.suspect) + queue.filter { !$0.suspect }, work, Set(products.keys))
    }

    /// A crash between the rename and the journal leaves a finished folder that the journal does not have.
    private func finishedResult(of decision: WorkPlanner.Decision) -> ItemProduct? {
        let entry = decision.entry
        guard output.holdsResult(entry.name) else { return nil }
        let folder = output.item(entry.name)
        return try? recipes[decision.item.recipe].recognize(folder: folder, fingerprint: entry.fingerprint)
    }

    /// Cleans up the staging folder, and tells progress how much there is to do.
    private func start(_ queue: [PendingItem], _ work: [WorkPlanner.Decision]) async throws {
        let counts = BatchCounts(of: try await journal.items())
        let steps = try await blocking.run { () throws -> Int in
            cleanStaging(keeping: Set(queue.map(\.name)))
            return try countSteps(work)
        }
        await progress.begin(
            total: counts.inputs - counts.skipped,
            alreadyDone: counts.inputs - counts.skipped - queue.count,
            failed: counts.failed + counts.quarantined,
            steps: steps
        )
    }

    private func cleanStaging(keeping names: Set<String>) {
        for name in FileSystem.entries(output.staging) {
            // Checkpoints of items that continue are in folders; a link is not ours.
            let isKept = names.contains(name) && FileSystem.kind(output.staging(name)) == .folder
            if !isKept { FileSystem.remove(output.staging(name)) }
        }
    }

    private func countSteps(_ work: [WorkPlanner.Decision]) throws -> Int {
        var steps = 0
        for item in work.map(\.item) {
            try check()
            options.trace.willRead(item.inputs.map(\.path))
            let plan = try? recipes[item.recipe].plan(source: item.source, threads: options.threads, lean: false)
            steps += plan?.steps ?? 1
        }
        options.trace.end()
        return steps
    }

    // MARK: Reporting

    private func report(_ decisions: [WorkPlanner.Decision]) async {
        for decision in decisions where !decision.reused && !decision.work {
            let entry = decision.entry
            let kinds: [ItemState: BatchEvent.Kind] = [
                .failed: .itemFailed, .skipped: .itemSkipped, .quarantined: .itemQuarantined,
            ]
            if let kind = kinds[entry.state] {
                await progress.emit(BatchEvent(kind, item: entry.name, because: entry.reason))
            }
        }
    }
}

extension WorkPlanner.Decision {
    /// Whether the journal has to be told of it.
    fileprivate func changes(_ known: [String: JournalItem]) -> Bool {
        guard !reused else { return false }
        guard let before = known[entry.key] else { return true }
        return before.state != entry.state || before.reason != entry.reason || before.crashes != entry.crashes
            || before.fingerprint != entry.fingerprint
    }
}

extension PendingItem {
    fileprivate init(_ decision: WorkPlanner.Decision, id: Int64) {
        self.init(
            id: id,
            recipe: decision.item.recipe,
            model: decision.item.model,
            name: decision.entry.name,
            inputs: PackedStamps(decision.item.inputs),
            suspect: decision.suspect,
            edit: decision.edit
        )
    }
}
