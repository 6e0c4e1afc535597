import Foundation
import NocturneConcurrency
import NocturneCore

/// Decides what is done and when; the journal's only writer.
actor Scheduler {
    private let recipes: [any Recipe]
    private let journal: Journal
    private let output: OutputFolder
    private let budget: MemoryBudget
    private let control: RunControl
    private let progress: ProgressReporter
    private let pool: ComputePool
    private let failFast: Bool
    private let room: DiskRoom
    private let memory: MemoryRoom
    private let hours: WorkingHours
    private let isWatching: Bool

    private let queue: [Work]
    private var next = 0
    private var retries: [Work] = []
    private var inFlight: [Int64: Work] = [:]
    /// Journaled as completed, though the report may not have come.
    private var committed: Set<Int64> = []
    /// What each item in flight may write.
    private var diskBytes: [Int64: Int] = [:]
    /// How often in a row the system said that there is no room.
    private var fullDisks = 0
    /// Whether a source changed while its item was worked on.
    private(set) var needsDiscovery = false
    private let deadline: ContinuousClock.Instant?
    private var pace: LearnedPace
    /// When what is in flight will probably have ended.
    private var expectedEnd = ContinuousClock.now
    private var leftForLater = 0
    private var waiter: CheckedContinuation<Void, Never>?
    private var sequence = 0

    init(
        recipes: [any Recipe],
        queue: [Work],
        journal: Journal,
        output: OutputFolder,
        budget: MemoryBudget,
        control: RunControl,
        progress: ProgressReporter,
        pool: ComputePool,
        failFast: Bool,
        onFull: FullDiskPolicy,
        engineBytes: Int,
        patience: Int?,
        hours: WorkingHours,
        isWatching: Bool
    ) {
        self.recipes = recipes
        self.queue = queue
        self.journal = journal
        self.output = output
        self.budget = budget
        self.control = control
        self.progress = progress
        self.pool = pool
        self.failFast = failFast
        room = DiskRoom(path: output.path, policy: onFull)
        memory = MemoryRoom(budget: budget, engineBytes: engineBytes, patience: patience)
        self.hours = hours
        self.isWatching = isWatching
        deadline = hours.secondsUntilDeadline(at: WorkingHours.now()).map { .now + .seconds($0) }
        pace = (try? journal.pace()) ?? LearnedPace()
    }

    // MARK: Admitting

    /// Admits items one after the other as memory allows, until none is left or the run is to stop.
    /// - Parameter requests: of each recipe's pipeline, in the order of the recipes.
    func admit(into requests: [BoundedChannel<Flight<Void>>]) async {
        let available = budget.total
        defer { for channel in requests { channel.finish() } }
        defer { if leftForLater > 0, !isWatching { control.drain() } }
        while control.mode == .running, let work = await nextWork() {
            if control.wasCancelled(item: work.name) {
                await settle(work, .cancelled, "cancelled on request", .itemCancelled)
                continue
            }
            do {
                let recipe = recipes[work.recipe]
                let plan = try recipe.plan(source: work.source, threads: pool.width, within: available)
                let needed = plan.peak()
                guard needed <= available else {
                    let words = "needs \(ByteCount(needed)) of memory, the budget leaves \(ByteCount(available))"
                    await fail(work, words)
                    continue
                }
                guard await hours.waitUntilOpen(control, progress) else { return }
                guard canFinish(work, plan) else {
                    leftForLater += 1
                    continue
                }
                let wanted = diskBytes.values.reduce(plan.diskBytes, +)
                guard await room.wait(for: wanted, refusals: fullDisks, control, progress) else { return }
                if work.retries > 0 { try await Task.sleep(for: .seconds(1 << (2 * work.retries - 1))) }
                try FaultPoint.lease.pass()
                let lease = try await budget.lease(bytes: needed, exclusive: work.suspect || plan.isLean)
                try await memory.wait(for: needed, of: work.name, control, progress)
                guard control.mode == .running else { return }
                try await start(work, plan: plan, lease: lease, requests[work.recipe])
            } catch is CancellationError {
                return
            } catch let error as JournalFault where error.isOutOfRoom && room.policy == .pause {
                fullDisks += 1
                retries.append(work)
            } catch let error as JournalFault {
                // Without the journal nothing can be promised: what is in flight is brought to its end.
                await progress.note("\(error)")
                control.drain()
                return
            } catch {
                await fail(work, "\(error)")
            }
        }
    }

    private func fail(_ work: Work, _ reason: String) async {
        await settle(work, .failed, reason, .itemFailed)
        if failFast { control.cancel() }
    }

    private func start(_ work: Work, plan: ItemPlan, lease: MemoryLease, _ requests: BoundedChannel<Flight<Void>>)
        async throws
    {
        sequence += 1
        let flag = control.flag(for: work.name)
        try journal.markStarted([work.id])
        inFlight[work.id] = work
        diskBytes[work.id] = plan.diskBytes
        let item = InFlightItem(
            id: work.id,
            item: RecipeItem(name: work.name, source: work.source, path: work.path, fingerprint: work.fingerprint),
            plan: plan,
            lease: lease,
            flag: flag,
            sequence: sequence,
            context: StageContext(
                scope: ComputeScope(pool: pool, flag: flag),
                staging: output.staging(work.name),
                isLean: plan.isLean
            ),
            inputs: work.inputs
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

    /// Whether the item will probably be done in time, after what is in flight. What nothing is known of is started.
    private func canFinish(_ work: Work, _ plan: ItemPlan) -> Bool {
        guard let deadline, let seconds = pace.seconds(model: work.model, steps: plan.steps) else { return true }
        let end = max(expectedEnd, .now) + .seconds(seconds)
        guard end <= deadline else { return false }
        expectedEnd = end
        return true
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
            fullDisks = 0
            pace.learn(model: work.model, seconds: seconds, steps: report.item.plan.steps)
            if deadline != nil { try? journal.keep(pace) }
            await progress.ended(
                work.id,
                BatchEvent(.itemCompleted, item: work.name, seconds: (seconds * 1000).rounded() / 1000)
            )
        case .failed(let reason, let stage, .another) where work.retries < 2:
            var again = work
            again.retries += 1
            retries.append(again)
            await putBack(work, "\(stage.rawValue): \(reason)")
        case .failed(let reason, let stage, .room):
            fullDisks += 1
            if room.policy == .stop { control.drain() } else { retries.append(work) }
            await putBack(work, "\(stage.rawValue): \(reason)")
        case .failed(let reason, _, .discovery):
            needsDiscovery = true
            FileSystem.remove(output.staging(work.name))
            await putBack(work, reason)
        case .failed(let reason, _, _):
            FileSystem.remove(output.staging(work.name))
            await fail(work, reason)
        case .interrupted:
            if control.wasCancelled(item: work.name) {
                await settle(work, .cancelled, "cancelled on request", .itemCancelled)
            } else {
                await settle(work, .pending, "interrupted", .itemInterrupted)
            }
        }
        inFlight[work.id] = nil
        diskBytes[work.id] = nil
        committed.remove(work.id)
        control.forget(work.name)
        wake()
    }

    /// It waits again, with the reason why.
    private func putBack(_ work: Work, _ reason: String) async {
        try? journal.settle([work.id], as: .pending, reason: reason, at: Timestamp.now())
        await progress.putBack(work.id, BatchEvent(.itemRetried, item: work.name, reason: reason))
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
        for work in queue[next...] where control.wasCancelled(item: work.name) {
            await settle(work, .cancelled, "cancelled on request", .itemCancelled)
        }
    }

    private func settle(_ work: Work, _ state: ItemState, _ reason: String, _ event: BatchEvent.Kind) async {
        do {
            try journal.settle([work.id], as: state, reason: reason, at: Timestamp.now())
        } catch {
            await progress.note("\(error)")
        }
        if state == .cancelled { control.forgetRequest(work.name) }
        await progress.ended(work.id, BatchEvent(event, item: work.name, reason: reason))
    }
}
