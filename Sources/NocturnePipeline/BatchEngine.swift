import CPosix
import Foundation
import NocturneConcurrency
import NocturneCore

/// The root of the tree of actors: builds it, owns the one task group, and takes it down.
///
/// A run: lock the output folder, open the journal, discover, take stock, then scheduler and stages side by side until
/// the last item has ended, then the account.
public struct BatchEngine: Sendable {
    private let recipes: [any Recipe]
    let options: BatchOptions
    private let control: RunControl
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
        let room = DiskRoom(path: output.path, policy: options.onFull)
        let lock = try await room.whenThereIsRoom(control, progress) {
            try output.create()
            return try BatchLock(output)
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

    /// Rounds of discovery and work: one, unless sources change meanwhile or the inputs are watched.
    private func work(
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        room: DiskRoom,
        health: OutputHealth,
        changed: Bool
    ) async throws -> BatchOutcome {
        await progress.emit(BatchEvent(.batchStarted))
        try await room.whenThereIsRoom(control, progress) {
            try await settleDeath(journal)
            if options.previousDeath == nil, journal.silentPaths()?.isEmpty == false { try journal.keepSilent([]) }
        }
        var planner = WorkPlanner(retryFailed: options.retryFailed, previousDeath: options.previousDeath)
        var peak = 0
        var rounds = 0
        var process: Int?
        let accounting = Accounting(
            recipes: recipes,
            journal: journal,
            output: options.output,
            description: options.description,
            control: control,
            progress: progress,
            room: room,
            health: health
        )
        var counts: BatchCounts
        var needsAnother: Bool
        repeat {
            let start = ContinuousClock.now
            let discovery = try await discover(journal, pool, blocking, isFirst: rounds == 0)
            let look = ContinuousClock.now - start
            let stock = StockTaking(
                recipes: recipes,
                journal: journal,
                output: options.output,
                control: control,
                progress: progress,
                threads: options.threads,
                descriptionChanged: changed && rounds == 0
            )
            let queue = try await room.whenThereIsRoom(control, progress) {
                try await stock.run(discovery, planner: planner)
            }
            cposix_trim_heap()
            let reading = MemoryReading.take()
            // What the lists of all items take is in the first reading. Later ones hold what the recipes keep between
            // rounds, too, which would count as shared.
            process = process ?? options.processBytes ?? max((reading.residentBytes ?? 0) - options.loadedBytes, 0)
            let end = try await workOff(
                queue,
                journal,
                pool,
                blocking,
                reading,
                processBytes: process ?? 0,
                room: room,
                health: health
            )
            counts = try await accounting.bringUpToDate()
            peak = max(peak, end.peakLeasedBytes)
            cposix_trim_heap()
            rounds += 1
            // What failed in this very run is not tried again.
            planner = WorkPlanner(retryFailed: false, previousDeath: nil)
            needsAnother = end.needsDiscovery && rounds < BatchEngine.mostRounds
            if let watch = options.watch {
                needsAnother = await watch.waitForNextRound(after: look, control)
            }
        } while needsAnother && control.mode == .running
        await progress.emit(
            BatchEvent(.batchFinished, done: counts.completed, total: counts.inputs, failed: counts.failed)
        )
        await progress.close()
        return BatchOutcome(counts: counts, mode: control.mode, peakLeasedBytes: peak, givenUp: control.givenUp)
    }

    /// After so many rounds sources that go on changing are left to the next run.
    private static let mostRounds = 4

    /// Builds the tree for a queue of items, lets it run to the last one, and takes it down.
    /// - Parameter processBytes: what the process takes without its models.
    private func workOff(
        _ queue: [Work],
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        _ reading: MemoryReading,
        processBytes: Int,
        room: DiskRoom,
        health: OutputHealth
    ) async throws -> (peakLeasedBytes: Int, needsDiscovery: Bool) {
        guard !queue.isEmpty else { return (0, false) }
        let total = options.memoryBytes ?? MemoryBudget.defaultTotal(reading)
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

    private func discover(_ journal: Journal, _ pool: ComputePool, _ blocking: BlockingPool, isFirst: Bool) async throws
        -> Discovery
    {
        let isNew = try journal.items().isEmpty
        let stuck = options.previousDeath == nil ? [] : journal.silentPaths() ?? []
        // Whoever gives items their time, or has just been stuck, does not want to be stuck in reading headers.
        let patience = options.stall?.itemSeconds.map { min($0, 30) } ?? (options.previousDeath == nil ? nil : 30)
        let request = DiscoveryRequest(
            inputs: options.description.inputs,
            include: options.description.include,
            exclude: options.description.exclude,
            pruned: [options.output.path],
            toleratesMissing: !isNew || !isFirst,
            silent: SilentFiles(patience: patience, remembered: stuck),
            identifiers: IdentifierPolicy(words: options.description.options)
        )
        let settled = Set(try journal.items().filter { $0.state == .failed }.map(\.path)).intersection(stuck)
        let flag = control.flag(for: "")
        let routes = options.description.routes
        let discovery = try await blocking.run { [recipes, options] in
            let scope = ComputeScope(pool: pool, flag: flag)
            var found = Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: routes)
            found.account(for: request.silent)
            // They have failed already, with a better reason.
            found.items.removeAll { settled.contains($0.path) }
            return options.watch?.quiet(found) ?? found
        }
        if options.watch != nil { return discovery }
        guard !discovery.items.isEmpty || !isNew else {
            throw BatchError(
                .nothingMatched,
                path: options.description.inputs.joined(separator: " "),
                detail: "no input was found"
                    + (discovery.notes.isEmpty ? "" : " (" + discovery.notes.joined(separator: "; ") + ")")
            )
        }
        return discovery
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
            StallWatch(
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
        let surroundings = StageSurroundings(
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
                await MemoryWatch(budget: budget, gate: gate, progress: progress).run(processBudget: facts.budgetBytes)
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
            control.onCancel { tree.cancel() }
            group.addTask { await tree.value }
            await group.waitForAll()
            watch.cancel()
            await watch.value
        }
    }

    private func pipeline<R: Recipe>(
        of recipe: R,
        bytes: Int,
        _ surroundings: StageSurroundings,
        _ committer: Committer,
        _ facts: RunFacts
    ) -> any RunnablePipeline {
        Pipeline(recipe: recipe, bytes: bytes, surroundings: surroundings, committer: committer, facts: facts)
    }
}
