import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneSystem

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
    private let room: DiskSpaceMonitor
    private let memory: MemoryAvailability
    private let hours: WorkingHours
    private let watch: FolderWatcher?

    private let queue: [PendingItem]
    private var next = 0
    private var retries: [PendingItem] = []
    private var inFlight: [Int64: PendingItem] = [:]
    /// Journaled as completed, though the report may not have come.
    private var committed: Set<Int64> = []
    /// What each item in flight may write.
    private var diskBytes: [Int64: Int] = [:]
    /// How often in a row the system said that there is no room; all that is in flight at once says it once.
    private var fullDisks = 0
    private var wasRefused = false
    /// Whether a source changed while its item was worked on.
    private(set) var needsDiscovery = false
    private let deadline: ContinuousClock.Instant?
    private var pace: LearnedPace
    /// Steps of each item in flight.
    private var steps: [Int64: Int] = [:]
    /// Since when the machine works on what is in flight: the last end of an item, or the first start after a rest.
    private var busySince = ContinuousClock.now
    private var hasLearned = false
    private var leftForLater = 0
    private var waiter: CheckedContinuation<Void, Never>?
    private var sequence = 0

    init(
        recipes: [any Recipe],
        queue: [PendingItem],
        journal: Journal,
        output: OutputFolder,
        budget: MemoryBudget,
        control: RunControl,
        progress: ProgressReporter,
        pool: ComputePool,
        failFast: Bool,
        room: DiskSpaceMonitor,
        engineBytes: Int,
        patience: Int?,
        hours: WorkingHours,
        deadline: ContinuousClock.Instant?,
        watch: FolderWatcher?
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
        self.room = room
        memory = MemoryAvailability(budget: budget, engineBytes: engineBytes, patience: patience)
        self.hours = hours
        self.watch = watch
        self.deadline = deadline
        pace = (try? journal.pace()) ?? LearnedPace()
    }

    // MARK: Admitting

    /// Admits items one after the other as memory allows, until none is left or the run is to stop.
    /// - Parameter requests: of each recipe's pipeline, in the order of the recipes.
    func admit(into requests: [BoundedChannel<StageMessage<Void>>]) async {
        await admitAll(into: requests)
        guard leftForLater > 0, watch == nil, let time = hours.finishBy else { return }
        control.drain()
        await progress.note("Not begun: \(leftForLater) items that would probably not be done by \(time).")
    }

    private func admitAll(into requests: [BoundedChannel<StageMessage<Void>>]) async {
        let available = budget.total
        defer { for channel in requests { channel.finish() } }
        while control.mode == .running, let work = await nextWork() {
            if control.wasCancelled(item: work.name) {
                await settle(work, .cancelled, "cancelled on request", .itemCancelled)
                continue
            }
            await watch?.drainIfStopped(control, progress)
            guard control.mode == .running else { return }
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
                wasRefused = false
                if work.retries > 0 { try await Task.sleep(for: .seconds(1 << (2 * work.retries - 1))) }
                try FaultPoint.lease.pass()
                let lease = try await budget.lease(bytes: needed, exclusive: work.suspect || plan.isLean)
                try await memory.wait(for: needed, of: work.name, control, progress)
                guard control.mode == .running else { return }
                // Room on the disk and memory may have been hours in coming.
                guard hours.areOpen, canFinish(work, plan) else {
                    lease.release()
                    retries.append(work)
                    continue
                }
                try await start(work, plan: plan, lease: lease, requests[work.recipe])
            } catch is CancellationError {
                return
            } catch let error as JournalError where error.isOutOfRoom && room.policy == .pause {
                noteRefusal()
                retries.append(work)
            } catch let error as JournalError {
                // Without the journal nothing can be promised: what is in flight is brought to its end.
                await progress.note("\(error)")
                control.drain()
                return
            } catch {
                await fail(work, "\(error)")
            }
        }
    }

    private func fail(_ work: PendingItem, _ reason: String) async {
        await settle(work, .failed, reason, .itemFailed)
        if failFast { control.cancel() }
    }

    private func start(
        _ work: PendingItem,
        plan: ItemPlan,
        lease: MemoryLease,
        _ requests: BoundedChannel<StageMessage<Void>>
    )
        async throws
    {
        sequence += 1
        let flag = control.flag(for: work.name)
        try journal.markStarted([work.id])
        if inFlight.isEmpty { busySince = .now }
        inFlight[work.id] = work
        steps[work.id] = plan.steps
        diskBytes[work.id] = plan.diskBytes
        let item = ActiveItem(
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
        try await requests.send(StageMessage(item: item, payload: ()))
    }

    /// The next item; waits while nothing is queued but something in flight may yet have to be tried again.
    private func nextWork() async -> PendingItem? {
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
    private func canFinish(_ work: PendingItem, _ plan: ItemPlan) -> Bool {
        guard let deadline else { return true }
        guard .now < deadline else { return false }
        guard let seconds = pace.seconds(model: work.model, steps: plan.steps) else { return true }
        let begun = inFlight.values.reduce(0) { $0 + (pace.seconds(model: $1.model, steps: steps[$1.id] ?? 0) ?? 0) }
        let left = max(0, begun - (ContinuousClock.now - busySince).inSeconds)
        return .now + .seconds(left + seconds) <= deadline
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
            hasLearned = true
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
            noteRefusal()
            if room.policy == .stop { control.drain() } else { retries.append(work) }
            await putBack(work, "\(stage.rawValue): \(reason)")
        case .failed(let reason, _, .output):
            if control.givenUp == nil { await progress.note("Stopping: \(reason).") }
            control.giveUp(reason)
            await putBack(work, reason)
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
        busySince = .now
        inFlight[work.id] = nil
        steps[work.id] = nil
        diskBytes[work.id] = nil
        committed.remove(work.id)
        control.forget(work.name)
        wake()
    }

    private func noteRefusal() {
        if !wasRefused { fullDisks += 1 }
        wasRefused = true
    }

    /// It waits again, with the reason why.
    private func putBack(_ work: PendingItem, _ reason: String) async {
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
        // Only a deadline makes it worth a transaction an item.
        if hasLearned { try? journal.keep(pace) }
        for work in inFlight.values where !committed.contains(work.id) {
            await settle(work, .pending, "interrupted", .itemInterrupted)
        }
        inFlight = [:]
        for work in queue[next...] where control.wasCancelled(item: work.name) {
            await settle(work, .cancelled, "cancelled on request", .itemCancelled)
        }
        // What else was asked for was nothing that this round could cancel, and is not meant for what may come later.
        control.forgetRequests()
    }

    private func settle(_ work: PendingItem, _ state: ItemState, _ reason: String, _ event: BatchEvent.Kind) async {
        do {
            try journal.settle([work.id], as: state, reason: reason, at: Timestamp.now())
        } catch {
            if control.givenUp == nil { await progress.note("\(error)") }
        }
        if state == .cancelled { control.forgetRequest(work.name) }
        await progress.ended(work.id, BatchEvent(event, item: work.name, reason: reason))
    }
}
