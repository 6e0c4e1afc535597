import Foundation
import NocturneConcurrency
import NocturneCore

/// Decides what is done and when; the journal's only writer.
actor Scheduler<R: Recipe> {
    private let recipe: R
    private let journal: Journal
    private let output: OutputFolder
    private let budget: MemoryBudget
    private let control: RunControl
    private let progress: ProgressReporter
    private let pool: ComputePool
    private let failFast: Bool

    private var queue: [Work] = []
    private var next = 0
    private var retries: [Work] = []
    private var inFlight: [Int64: Work] = [:]
    /// Journaled as completed, though the report may not have come.
    private var committed: Set<Int64> = []
    private var waiter: CheckedContinuation<Void, Never>?
    private var sequence = 0
    private(set) var changedAnything = false

    init(
        recipe: R,
        journal: Journal,
        output: OutputFolder,
        budget: MemoryBudget,
        control: RunControl,
        progress: ProgressReporter,
        pool: ComputePool,
        failFast: Bool
    ) {
        self.recipe = recipe
        self.journal = journal
        self.output = output
        self.budget = budget
        self.control = control
        self.progress = progress
        self.pool = pool
        self.failFast = failFast
    }

    // MARK: Taking stock

    /// Brings discovery and journal together and fills the queue.
    func takeStock(_ discovery: Discovery, planner: WorkPlanner) async throws {
        let known = Dictionary(uniqueKeysWithValues: try journal.items().map { ($0.key, $0) })
        let files = try journal.files()
        let output = output
        let decisions = planner.decide(discovery.items, known: known) { item in
            (files[item.id] ?? []).allSatisfy { FileSystem.size(output.item(item.name) + "/" + $0.path) == $0.bytes }
                && files[item.id] != nil
        }
        for note in discovery.notes { await progress.note(note) }
        for note in decisions.compactMap(\.note) { await progress.note(note) }
        for decision in decisions where decision.entry.state == .quarantined && !decision.reused {
            await progress.emit(BatchEvent(.itemQuarantined, item: decision.entry.name, reason: decision.entry.reason))
        }
        let changed = decisions.filter { decision in
            guard !decision.reused else { return false }
            guard let before = known[decision.entry.item.key] else { return true }
            return
                !(before.state == decision.entry.state && before.reason == decision.entry.reason
                && before.fingerprint == decision.entry.item.fingerprint.hex && before.deaths == decision.entry.deaths)
        }
        try journal.record(changed.map(\.entry))
        changedAnything = !changed.isEmpty
        try settleVanished(discovery, known: known)
        try await fillQueue(decisions)
        try await reportProblems(decisions)
    }

    /// Items that were to be done, and whose source is no longer found.
    private func settleVanished(_ discovery: Discovery, known: [String: JournalItem]) throws {
        let found = Set(discovery.items.map(\.key))
        let vanished = known.values.filter { !found.contains($0.key) && ($0.state == .pending || $0.state == .started) }
        guard !vanished.isEmpty else { return }
        changedAnything = true
        try journal.settle(
            vanished.map(\.id),
            as: .failed,
            reason: "the source is no longer there",
            at: Timestamp.now()
        )
    }

    private func fillQueue(_ decisions: [WorkPlanner.Decision]) async throws {
        let ids = Dictionary(uniqueKeysWithValues: try journal.items().map { ($0.key, $0.id) })
        var adopted: [(Int64, ItemProduct)] = []
        for decision in decisions where decision.work {
            let entry = decision.entry
            guard let id = ids[entry.item.key] else { continue }
            // A crash between the rename and the journal leaves a finished folder that the journal does not know.
            if FileSystem.exists(output.item(entry.name) + "/result.json"),
                let product = try? recipe.adopt(
                    folder: output.item(entry.name),
                    fingerprint: entry.item.fingerprint.hex
                )
            {
                adopted.append((id, product))
                continue
            }
            queue.append(
                Work(
                    id: id,
                    name: entry.name,
                    source: entry.item.source,
                    path: entry.item.path,
                    fingerprint: entry.item.fingerprint.hex,
                    suspect: decision.suspect
                )
            )
        }
        queue = queue.filter(\.suspect) + queue.filter { !$0.suspect }
        if !adopted.isEmpty {
            changedAnything = true
            try journal.complete(adopted, at: Timestamp.now())
        }
        let waiting = Set(queue.map(\.name))
        for name in FileSystem.entries(output.staging) where !waiting.contains(name) {
            FileSystem.remove(output.staging(name))
        }
        let items = try journal.items()
        let counts = BatchCounts(of: items)
        let steps = queue.reduce(0) { $0 + ((try? recipe.plan(source: $1.source, threads: pool.width))?.steps ?? 1) }
        await progress.begin(
            total: counts.inputs - counts.skipped,
            alreadyDone: counts.inputs - counts.skipped - queue.count,
            failed: counts.failed + counts.quarantined,
            steps: steps
        )
    }

    private func reportProblems(_ decisions: [WorkPlanner.Decision]) async throws {
        for decision in decisions where !decision.reused && !decision.work {
            let entry = decision.entry
            if entry.state == .failed {
                await progress.emit(BatchEvent(.itemFailed, item: entry.name, reason: entry.reason))
            } else if entry.state == .skipped {
                await progress.emit(BatchEvent(.itemSkipped, item: entry.name, reason: entry.reason))
            }
        }
    }

    var hasWork: Bool { !queue.isEmpty }

    // MARK: Admitting

    /// Admits items one after the other as memory allows, until none is left or the run is to stop.
    func admit(into requests: BoundedChannel<Flight<Void>>) async {
        let available = budget.total
        defer { requests.finish() }
        while control.mode == .running, let work = await nextWork() {
            if control.wasCancelled(item: work.name) {
                await settle(work, .cancelled, "cancelled on request", .itemCancelled)
                continue
            }
            do {
                let plan = try recipe.plan(source: work.source, threads: pool.width)
                let needed = plan.peak()
                guard needed <= available else {
                    let words = "needs \(ByteCount(needed)) of memory, the budget leaves \(ByteCount(available))"
                    await settle(work, .failed, words, .itemFailed)
                    continue
                }
                if work.retries > 0 { try await Task.sleep(for: .seconds(1 << (2 * work.retries - 1))) }
                let lease = try await budget.lease(bytes: needed, exclusive: work.suspect)
                guard control.mode == .running else { return }
                try await start(work, plan: plan, lease: lease, requests)
            } catch is CancellationError {
                return
            } catch {
                await settle(work, .failed, "\(error)", .itemFailed)
            }
        }
    }

    private func start(_ work: Work, plan: ItemPlan, lease: MemoryLease, _ requests: BoundedChannel<Flight<Void>>)
        async throws
    {
        sequence += 1
        let flag = control.flag(for: work.name)
        inFlight[work.id] = work
        try journal.markStarted([work.id])
        changedAnything = true
        let item = InFlightItem(
            id: work.id,
            item: RecipeItem(name: work.name, source: work.source, path: work.path, fingerprint: work.fingerprint),
            plan: plan,
            lease: lease,
            flag: flag,
            sequence: sequence,
            context: StageContext(
                scope: ComputeScope(pool: pool, flag: flag),
                staging: output.staging(work.name)
            )
        )
        await progress.started(work.id, name: work.name, steps: plan.steps)
        try await requests.send(Flight(item: item, payload: ()))
    }

    /// The next item; waits while nothing is queued but something in flight may yet have to be tried again.
    private func nextWork() async -> Work? {
        while true {
            if next < queue.count {
                next += 1
                return queue[next - 1]
            }
            if let work = retries.popLast() { return work }
            if inFlight.isEmpty || control.mode != .running { return nil }
            await withCheckedContinuation { waiter = $0 }
        }
    }

    private func wake() {
        waiter?.resume()
        waiter = nil
    }

    // MARK: Reports

    /// Takes the reports of items as their ways end.
    func listen(to reports: BoundedChannel<ItemReport>) async {
        while let report = try? await reports.receive() { await take(report) }
        wake()
    }

    private func take(_ report: ItemReport) async {
        guard let work = inFlight[report.item.id] else { return }
        let seconds = report.item.seconds.values.reduce(0, +)
        switch report.end {
        case .completed:
            await progress.ended(
                work.id,
                BatchEvent(.itemCompleted, item: work.name, seconds: (seconds * 1000).rounded() / 1000)
            )
        case .failed(let reason, let stage, let transient)
        where transient && work.retries < 2 && control.mode == .running:
            var again = work
            again.retries += 1
            retries.append(again)
            await progress.putBack(
                work.id,
                BatchEvent(.itemRetried, item: work.name, reason: "\(stage.rawValue): \(reason)")
            )
        case .failed(let reason, _, _):
            await settle(work, .failed, reason, .itemFailed)
            FileSystem.remove(output.staging(work.name))
            if failFast { control.cancel() }
        case .interrupted:
            if control.wasCancelled(item: work.name) {
                await settle(work, .cancelled, "cancelled on request", .itemCancelled)
            } else {
                await settle(work, .pending, "interrupted", .itemInterrupted)
            }
        }
        inFlight[work.id] = nil
        committed.remove(work.id)
        control.forget(work.name)
        wake()
    }

    /// Called by the committer for items whose files are in place.
    func record(_ commits: [PendingCommit]) throws {
        try journal.complete(commits.map { ($0.id, $0.product) }, at: Timestamp.now())
        committed.formUnion(commits.map(\.id))
    }

    /// After everything has stopped: what was in flight and never reported goes back to waiting.
    func settleLeftovers() async {
        for work in inFlight.values where !committed.contains(work.id) {
            await settle(work, .pending, "interrupted", .itemInterrupted)
        }
        inFlight = [:]
    }

    private func settle(_ work: Work, _ state: ItemState, _ reason: String, _ event: BatchEvent.Kind) async {
        changedAnything = true
        do {
            try journal.settle([work.id], as: state, reason: reason, at: Timestamp.now())
        } catch {
            await progress.note("\(error)")
        }
        await progress.ended(work.id, BatchEvent(event, item: work.name, reason: reason))
    }
}
