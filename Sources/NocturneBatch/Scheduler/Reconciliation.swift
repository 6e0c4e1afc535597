import Foundation
package import NocturneConcurrency
import NocturneCore
package import NocturneJournal
package import NocturneSystem

/// Compares discovery with the journal before a run: what is done, what is to be done, and what never will be.
///
/// It runs before the scheduler exists, on the blocking pool, since everything here touches files.
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
        try await withTaskExecutorPreference(blocking) { try await reconcile(discovery, planner) }
    }

    private func reconcile(_ discovery: Discovery, _ planner: WorkPlanner) async throws -> ItemQueue {
        try check()
        try output.restoreReplaced()
        let recorded = try await RecordedItems(journal, output) { try check() }
        let known = recorded.items
        let decisions = try recorded.decide(discovery.items, recipes, planner) { try check() }
        for note in discovery.notes { await progress.note(note) }
        for note in decisions.lazy.compactMap(\.note) { await progress.note(note) }
        try await record(decisions, known)
        try await settleVanished(discovery, known: known)
        let (queue, steps, recognized) = try await queue(decisions)
        try await start(queue, steps: steps)
        await report(
            decisions.enumerated().lazy.filter { place, decision in
                !recognized.contains(place) && (options.reportsAll || decision.changes(known))
            }.map(\.element)
        )
        return queue
    }

    /// Records what is new, some thousands at a time and in order: after an interruption the rest gets the same names.
    private func record(_ decisions: FileBackedList<WorkPlanner.Decision>, _ known: KnownItems) async throws {
        var entries: [JournalEntry] = []
        for decision in decisions where decision.changes(known) {
            entries.append(decision.entry)
            guard entries.count == Self.itemsAtOnce else { continue }
            try await journal.record(entries)
            entries.removeAll(keepingCapacity: true)
        }
        if !entries.isEmpty { try await journal.record(entries) }
    }

    private var now: String { options.time.wallClock.timestamp }

    private func check() throws(CancelledError) {
        if control.mode == .cancelled { throw CancelledError() }
    }

    /// Items that wait, and that this run did not find, keep waiting, unless the description of the batch has changed. A
    /// folder that could not be read, and now can be, is no longer an item, nor is a file that was unsuitable and is now part
    /// of an item.
    private func settleVanished(_ discovery: Discovery, known: KnownItems) async throws {
        guard !known.isEmpty else { return }
        let found = Set(discovery.items.lazy.map { TextHash.of($0.key) })
        let absent = known.all.lazy.filter { !found.contains(TextHash.of($0.key)) }
        func settle(_ items: some Sequence<JournalItem>, _ reason: ItemReason) async throws {
            try await journal.settle(items.map(\.id), as: .skipped, reason: reason, at: now)
        }
        let opened = absent.filter {
            $0.key.hasPrefix(DiscoveredItem.missedKeyPrefix) && $0.state != .skipped
        }
        try await settle(opened, .discovered(.vanished, "the folder is readable again"))
        let unfit = absent.filter { $0.key.hasPrefix(DiscoveredItem.fileKeyPrefix) && $0.state == .failed }
        var parts = Set(unfit.map(\.path))
        if !parts.isEmpty {
            let inputs = discovery.items.lazy.filter { $0.problem == nil }.flatMap { $0.inputs.map(\.path) }
            parts.formIntersection(inputs)
            try await settle(
                unfit.filter { parts.contains($0.path) },
                .discovered(.partOfOther, "is now part of another item")
            )
        }
        guard options.descriptionChanged else { return }
        let vanished = absent.filter { $0.state != .completed }
        try await settle(vanished, .discovered(.vanished, "no longer among the inputs"))
    }

    // MARK: The queue

    /// What is to be processed, suspects first, with its number of steps, and the places of decisions about items whose
    /// results were found finished.
    private func queue(_ decisions: FileBackedList<WorkPlanner.Decision>) async throws -> (
        queue: ItemQueue, steps: Int, recognized: IndexSet
    ) {
        var items = FileBackedList<PendingItem>()
        var suspects: [PendingItem] = []
        var steps = 0
        var recognized = IndexSet()
        for start in stride(from: 0, to: decisions.count, by: Self.itemsAtOnce) {
            try check()
            let portion = decisions.elements(start..<min(start + Self.itemsAtOnce, decisions.count)).enumerated().filter
            {
                $0.element.work || $0.element.state == .quarantined
            }
            let ids = try await journal.ids(of: portion.map(\.element.item.key))
            var products: [(id: Int64, product: ItemProduct)] = []
            for case (let (place, decision), let id?) in zip(portion, ids) {
                try check()
                if let product = finishedResult(of: decision) {
                    products.append((id, product))
                    recognized.insert(start + place)
                } else if decision.work {
                    var item = PendingItem(decision, id: id)
                    item.hasEarlierResult = output.holdsResult(item.name)
                    if item.suspect { suspects.append(item) } else { items.append(item) }
                    steps += countSteps(decision.item)
                }
            }
            if !products.isEmpty {
                // Their renames may not have reached the disk.
                try FileSystem.flush(output.path)
                try await journal.complete(products, at: now)
            }
        }
        options.trace.end()
        return (ItemQueue([AnySequence(suspects), AnySequence(items)].joined()), steps, recognized)
    }

    private static let itemsAtOnce = 4096

    /// A crash between the rename and the journal leaves a finished folder that the journal does not have.
    private func finishedResult(of decision: WorkPlanner.Decision) -> ItemProduct? {
        guard output.holdsResult(decision.name) else { return nil }
        let (item, folder) = (decision.item, output.item(decision.name))
        return try? recipes[item.recipe].recognize(folder: folder, fingerprint: item.fingerprint.hex)
    }

    /// Cleans up the staging folder, and tells progress how much there is to do.
    private func start(_ queue: ItemQueue, steps: Int) async throws {
        let counts = BatchCounts(try await journal.stateCounts())
        cleanStaging(keeping: queue)
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

    private func countSteps(_ item: DiscoveredItem) -> Int {
        options.trace.willRead(item.inputs.map(\.path))
        let plan = try? recipes[item.recipe].plan(source: item.source, threads: options.threads, lean: false)
        return plan?.steps ?? 1
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
    fileprivate func changes(_ known: KnownItems) -> Bool {
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
