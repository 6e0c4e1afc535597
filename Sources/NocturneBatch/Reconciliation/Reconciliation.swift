package import NocturneConcurrency
package import NocturneJournal
package import NocturneOutput
package import NocturneSystem

/// Compares what was found with the journal before a run: what is done, what is to be done, and what never will be.
///
/// It runs before the scheduler exists, on the blocking pool, since everything here touches files.
package struct Reconciliation: Sendable {
    private let recipes: [any Recipe]
    private let journal: Journal
    private let output: OutputFolder
    private let blocking: BlockingPool
    private let control: RunControl
    private let progress: ProgressReporter
    /// Whether the batch continues with other inputs or options than it was started with.
    package var descriptionChanged = false
    /// Which results leave the batch; nil for a shard, whose items are planned.
    package var withdrawn: WithdrawnResults?
    /// In which items are processed.
    package var order = WorkOrder.path
    /// How many items are processed at most; nil for all.
    package var limit: Int?
    /// Whether to report again what the journal had before this run.
    package var reportsAll = true
    /// Ends with the search: from then on a crash is one of items.
    package var trace = DiscoveryTrace()
    /// For the timestamps in the journal.
    package var time: any TimeSource = SystemTime()

    /// - Parameters:
    ///   - recipes: in the order of the indices in items.
    ///   - journal: of the batch, which has the found items in its table.
    ///   - output: where results are recognised and staging is cleaned up.
    ///   - blocking: on which everything runs.
    ///   - control: stops the reconciliation once the run is cancelled.
    ///   - progress: gets notes, and states of items that are not processed.
    package init(
        recipes: [any Recipe],
        journal: Journal,
        output: OutputFolder,
        blocking: BlockingPool,
        control: RunControl,
        progress: ProgressReporter
    ) {
        (self.recipes, self.journal, self.output) = (recipes, journal, output)
        (self.blocking, self.control, self.progress) = (blocking, control, progress)
    }

    /// Records what is new, and prepares what is to be processed.
    /// - Returns: how many items are to be processed.
    /// - Throws: `CancelledError` when the run is to stop; errors of the journal.
    package func run(notes: [String], planner: WorkPlanner) async throws -> Int {
        try await withTaskExecutorPreference(blocking) { try await reconcile(notes, planner) }
    }

    private func reconcile(_ notes: [String], _ planner: WorkPlanner) async throws -> Int {
        try check()
        try output.restoreReplaced()
        for note in notes { await progress.note(note) }
        var reconciler = Reconciler(journal, output, recipes, planner)
        reconciler.time = time
        try await reconciler.forEachPortion(check: { try check() }) { decided in
            let actions = try decided.map { try action(on: $0.candidate, $0.decision) }
            for (own, action) in zip(decided, actions) {
                // A known item whose result is found complete is not processed again.
                let isFound = action.finished != nil && own.candidate.before != nil
                if let note = own.decision.note, !isFound { await progress.note(note) }
                guard action.finished != nil else { continue }
                let (name, fingerprint) = (own.decision.name, own.decision.item.fingerprint.hex)
                let lost = try await journal.noteOnLostAdditions(of: name, besides: fingerprint)
                if let lost { await progress.note(lost) }
            }
            // The renames of finished folders may not have reached the disk.
            if actions.contains(where: { $0.finished != nil }) { try FileSystem.flush(output.path) }
            return actions
        }
        trace.end()
        try await journal.findTakenFiles()
        try await journal.setAsideAbsent(
            all: descriptionChanged,
            opened: .discovered(.vanished, "can be read now, or has another name"),
            partOfOther: .discovered(.partOfOther, "is now part of another item"),
            vanished: .discovered(.vanished, "no longer among the inputs"),
            at: time.wallClock.timestamp
        )
        if let withdrawn {
            let now = time.wallClock.timestamp
            let notes = try await withdrawn.perform(in: output, journal, at: now, namesGone: reportsAll) { try check() }
            for note in notes { await progress.note(note) }
            if reportsAll { await reportAbsent(try await journal.absentItems()) }
        }
        // A batch that grew gets the numbers that it would have if all items had joined it together.
        if descriptionChanged { try await journal.numberAsFound() }
        for (index, recipe) in recipes.enumerated() {
            for note in try recipe.remarks(journal.found, recipe: index) { await progress.note(note) }
        }
        var first = try await journal.value(of: .firstItems) ?? []
        // A pilot that was interrupted continues the items that it had begun.
        if limit != nil { first += FileSystem.entries(output.staging) }
        let count = try await journal.beginWork(order, atMost: limit, first: first)
        try await start(count)
        try await report()
        return count
    }

    /// Without it such items would end every run with 3, and nobody would know why.
    private func reportAbsent(_ items: FirstNames) async {
        guard items.count > 0 else { return }
        let were = items.count == 1 ? "was" : "were"
        await progress.note(
            "\(counted(items.count, "item")) without a result \(were) not found (\(items.text)). If the source no longer exists, "
                + "`nocturne forget \(output.argument) ITEM` removes an item from the batch"
        )
    }

    private func check() throws(CancelledError) {
        if control.mode == .cancelled { throw CancelledError() }
    }

    private func action(on candidate: Candidate, _ decision: WorkPlanner.Decision) throws -> CandidateAction {
        try check()
        var action = CandidateAction(candidate, decision)
        if decision.work || decision.state == .quarantined { action.finished = finishedResult(of: decision) }
        guard action.finished == nil else { return action }
        action.isProcessed = decision.work
        action.isAlone = decision.suspect
        action.isNews = !decision.isKept && !decision.work && (reportsAll || action.entry != nil)
        return action
    }

    /// A crash between the rename and the journal leaves a finished folder that the journal does not have.
    private func finishedResult(of decision: WorkPlanner.Decision) -> ItemProduct? {
        guard output.holdsResult(decision.name) else { return nil }
        let (item, folder) = (decision.item, output.item(decision.name))
        var product = try? recipes[item.recipe].recognize(folder: folder, fingerprint: item.fingerprint.hex)
        product?.origin = RunFacts.origin(of: folder)
        return product
    }

    /// Cleans up the staging folder, and reports how much there is to do.
    private func start(_ count: Int) async throws {
        let counts = BatchCounts(try await journal.stateCounts())
        FileSystem.remove(output.arrived)
        let entries = FileSystem.entries(output.staging)
        let names = try await journal.pendingNames(among: entries)
        for name in entries {
            // Checkpoints of items that continue are in folders; a link is not ours.
            let isKept = names.contains(name) && FileSystem.kind(output.staging(name)) == .folder
            if !isKept { FileSystem.remove(output.staging(name)) }
        }
        let left = limit == nil ? 0 : counts.notReached - count
        await progress.begin(
            total: counts.inputs - counts.skipped - left,
            alreadyDone: counts.inputs - counts.skipped - left - count,
            failed: counts.failed + counts.quarantined
        )
    }

    private func report() async throws {
        var skips: [String: FirstNames] = [:]
        let kinds: [ItemState: BatchEvent.Kind] = [
            .failed: .itemFailed, .skipped: .itemSkipped, .quarantined: .itemQuarantined,
        ]
        var place: Int64 = 0
        while true {
            let news = try await journal.news(after: place, limit: FoundTable.itemsAtOnce)
            for (_, item) in news {
                if item.state == .skipped { skips[item.reason?.text ?? "", default: FirstNames()].add(item.name) }
                if let kind = kinds[item.state] {
                    var event = BatchEvent(kind, item: item.name, because: item.reason)
                    if ItemNames.isDigest(item.name, of: item.key) { event.path = item.path }
                    await progress.emit(event)
                }
            }
            guard let last = news.last else { break }
            place = last.place
        }
        for line in StartText.skips(skips) { await progress.note(line) }
    }
}
