import CPosix
import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// The root of the tree of actors: builds it, owns the one task group, and takes it down.
///
/// A run: lock the output folder, open the journal, discover, take stock, then scheduler and stages side by side until
/// the last item has ended, then the account.
public struct BatchEngine: Sendable {
    let recipes: [any Recipe]
    let options: BatchOptions
    let control: RunControl
    let progress: ProgressReporter

    /// - Parameter recipes: one for each kind of model in use.
    public init(recipes: [any Recipe], options: BatchOptions, control: RunControl, progress: ProgressReporter) {
        self.recipes = recipes
        self.options = options
        self.control = control
        self.progress = progress
    }

    /// Runs the batch to its end, or until it is stopped.
    /// - Throws: ``BatchError`` for faults of the batch itself; faults of items are in the account.
    public func run() async throws -> BatchOutcome {
        let output = options.output
        let room = DiskSpaceMonitor(path: output.path, policy: options.onFull)
        let lock = try await room.whenThereIsRoom(control, progress) {
            try output.create()
            return try BatchLock(output, handedOn: options.lock)
        }
        control.onWait { lock.say($0) }
        defer { control.onWait(nil) }
        let (journal, changed) = try await room.whenThereIsRoom(control, progress) {
            let journal = try Journal(path: output.journal)
            return (journal, try agree(with: journal))
        }
        defer { journal.close() }

        let pool = ComputePool(width: options.threads)
        let blocking = BlockingPool(width: 4)
        defer {
            blocking.shutdown()
            pool.shutdown()
        }
        let health = OutputHealth(output: output, lock: lock)
        return try await work(journal, pool, blocking, room: room, health: health, changed: changed)
    }

    /// Builds the tree for a queue of items, lets it run to the last one, and takes it down.
    /// - Parameter processBytes: what the process takes without its models.
    func workOff(
        _ queue: [PendingItem],
        _ limits: RunLimits,
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        processBytes: Int,
        room: DiskSpaceMonitor,
        health: OutputHealth
    ) async throws -> (peakLeasedBytes: Int, needsDiscovery: Bool) {
        guard !queue.isEmpty else { return (0, false) }
        let total = limits.memoryBytes
        let engine = try recipes.reduce(processBytes) { $0 + (try $1.sharedBytes(threads: options.threads)) }
        guard engine < total else {
            throw BatchError(
                .modelUnusable,
                path: "",
                detail: "the engine alone needs \(ByteCount(engine)), the budget is \(ByteCount(total))"
            )
        }
        // Only items lease: what the process and the engine need is set apart, so that "nothing is leased" means
        // that nothing is in flight, and one item is then admitted whatever the pressure.
        let budget = MemoryBudget(totalBytes: total - engine)
        let scheduler = Scheduler(
            recipes: recipes,
            queue: queue,
            journal: journal,
            output: options.output,
            budget: budget,
            control: control,
            progress: progress,
            pool: pool,
            failFast: options.failFast,
            room: room,
            engineBytes: engine,
            patience: options.stall?.seconds,
            hours: options.hours,
            deadline: limits.deadline(options.hours),
            watch: options.watch
        )
        let facts = RunFacts(
            startedAt: Timestamp.now(),
            hostName: ProcessInfo.processInfo.hostName,
            threads: options.threads,
            budgetBytes: total,
            version: options.description.version,
            engineBytes: engine,
            budget: budget
        )
        await runTree(scheduler, budget: budget, pool: pool, blocking: blocking, facts: facts, journal, health)
        await scheduler.settleLeftovers()
        return (budget.snapshot().peakLeased, await scheduler.needsDiscovery)
    }

    /// Scheduler, stages and watch, side by side, until the last report.
    private func runTree(
        _ scheduler: Scheduler,
        budget: MemoryBudget,
        pool: ComputePool,
        blocking: BlockingPool,
        facts: RunFacts,
        _ journal: Journal,
        _ health: OutputHealth
    ) async {
        let gate = PressureGate()
        let stalls = options.stall.map { stall in
            StallDetector(
                limit: stall.seconds,
                itemLimit: stall.itemSeconds,
                isPaused: { gate.level == .critical },
                action: { stuck in
                    journal.clear(of: stuck)
                    stall.action(stuck.map(\.words).sorted().joined(separator: "; "))
                }
            )
        }
        stalls?.start()
        defer { stalls?.stop() }
        let reports = BoundedChannel<ItemReport>(items: 64)
        let committer = Committer(output: options.output, blocking: blocking) { try await scheduler.record($0) }
        let surroundings = StageEnvironment(
            pool: pool,
            blocking: blocking,
            reports: reports,
            progress: progress,
            gate: gate,
            stalls: stalls,
            health: health
        )
        // Never more bytes between stages than the budget.
        let pipelines = recipes.map { pipeline(of: $0, bytes: budget.total, surroundings, committer, facts) }

        await withTaskGroup(of: Void.self) { group in
            let watch = Task {
                await MemoryMonitor(budget: budget, gate: gate, progress: progress).run(
                    processBudget: facts.budgetBytes
                )
            }
            let tree = Task {
                await withTaskGroup(of: Void.self) { stages in
                    stages.addTask { await scheduler.admit(into: pipelines.map(\.requests)) }
                    stages.addTask {
                        await withTaskGroup(of: Void.self) { group in
                            for pipeline in pipelines { group.addTask { await pipeline.run() } }
                        }
                        reports.finish()
                    }
                    stages.addTask { await scheduler.listen(to: reports) }
                }
            }
            let lookout = Task { await options.watch?.lookOut(control, progress) }
            control.onCancel { tree.cancel() }
            group.addTask { await tree.value }
            await group.waitForAll()
            lookout.cancel()
            watch.cancel()
            await lookout.value
            await watch.value
        }
    }

    private func pipeline<R: Recipe>(
        of recipe: R,
        bytes: Int,
        _ surroundings: StageEnvironment,
        _ committer: Committer,
        _ facts: RunFacts
    ) -> any RunnablePipeline {
        Pipeline(recipe: recipe, bytes: bytes, surroundings: surroundings, committer: committer, facts: facts)
    }
}
