import Foundation
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// The processing of the items of one round: scheduler and pipelines, side by side in one task group until the last item has
/// ended.
struct ItemProcessing {
    let budget: MemoryBudget
    let scheduler: Scheduler
    private let context: RunContext
    private let gate: PressureGate
    /// What the process and the models take, whatever is active.
    private let engineBytes: Int
    private let models: ModelsInUse

    /// - Parameters:
    ///   - count: how many items are to be processed.
    ///   - processBytes: what the process takes without its models.
    ///   - breaker: has seen the items of earlier rounds.
    ///   - report: hears of items that end.
    /// - Throws: ``BatchError`` when the budget leaves next to nothing for items.
    init(_ count: Int, _ context: RunContext, processBytes: Int, _ breaker: CircuitBreaker, _ report: CurrentReport)
        async throws
    {
        self.context = context
        gate = PressureGate(time: context.time)
        let (options, total) = (context.options, context.limits.memoryBytes)
        let threads = options.resources.threads
        let recipes = context.recipes
        let (engineBytes, shared) = try await context.blocking.run {
            try Self.engineBytes(recipes, threads: threads, processBytes: processBytes, within: total)
        }
        self.engineBytes = engineBytes
        // The next input that a watch finds may be for any model.
        let mayRelease = options.rules.watch == nil && shared.reduce(0) { $0 + max($1.ofModels.count, 1) } > 1
        models = mayRelease ? ModelsInUse(shared, items: try await context.journal.pendingCounts()) : ModelsInUse()
        // Only items lease: what the process and the engine need is set apart, so that "nothing is leased" means that
        // nothing is active, and one item is then admitted whatever the pressure.
        budget = MemoryBudget(totalBytes: total - engineBytes)
        var settings = AdmissionStateMachine.Settings(memoryBytes: budget.total)
        settings.engineBytes = engineBytes
        settings.stopsWhenFull = options.rules.onFull == .stop
        settings.memoryPatience = options.rules.stall?.seconds.map { .seconds($0) } ?? DiskShortage.patience
        settings.isWatching = options.rules.watch != nil
        scheduler = await Scheduler(count, budget: budget, settings, breaker, report, context)
    }

    /// What the process and the models take, and what of it the recipes share.
    /// - Throws: ``BatchError`` when less than a 32nd of the budget is left: each item would fail alone, with a reason
    ///   that does not name the engine.
    private static func engineBytes(
        _ recipes: [any Recipe],
        threads: Int,
        processBytes: Int,
        within total: Int
    ) throws -> (bytes: Int, shared: [SharedMemory]) {
        let shared = try recipes.map { try $0.sharedMemory(threads: threads) }
        let bytes = shared.reduce(processBytes) { $0 + $1.bytes }
        let usable = total - total / 32
        guard bytes <= usable else {
            throw BatchError(
                .modelUnusable,
                path: "",
                detail:
                    "the engine and the models need \(ByteCount(bytes)); \(ByteCount(usable)) of the memory budget of "
                    + "\(ByteCount(total)) can be used. Raise it with --memory, or use fewer threads with --threads"
            )
        }
        return (bytes, shared)
    }

    /// The same for a batch that has not begun.
    static func checkBudget(_ recipes: [any Recipe], _ resources: ResourceLimits) throws {
        let reading = MemoryReading.take()
        let total = resources.memoryBytes ?? MemoryBudget.defaultTotal(reading)
        _ = try engineBytes(
            recipes,
            threads: resources.threads,
            processBytes: resources.processBytes(by: reading),
            within: total
        )
    }

    /// Returns once everything has ended and is recorded.
    /// - Returns: what was measured.
    func run() async -> RunFigures {
        let (start, processorStart) = (gate.workTime, Self.processorSeconds)
        await processAll()
        var figures = await scheduler.figures
        figures.seconds = (gate.workTime - start).inSeconds
        figures.processorSeconds = Self.processorSeconds - processorStart
        (figures.threads, figures.budgetBytes) = (context.pool.width, context.limits.memoryBytes)
        return figures
    }

    /// Of all threads of the process so far.
    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func processAll() async {
        let stalls = stallDetector()
        stalls?.start()
        defer { stalls?.stop() }
        context.control.hold(at: gate)
        defer { context.control.hold(at: nil) }
        let (pipelines, reuser) = pipelines(stalls)
        await context.waiting.monitor.follow(
            MachineMonitor.PressureFollowers(
                budget: budget,
                gate: gate,
                processBudget: context.limits.memoryBytes,
                device: context.device,
                show: show
            )
        )
        // The first part only waits for a cancellation. When it returns, the others are cancelled; when they have ended, it is.
        await withTaskGroup(of: Part.self) { group in
            group.addTask {
                await context.control.cancelled()
                return .cancellation
            }
            group.addTask {
                await scheduler.run(pipelines, reuser, models)
                return .work
            }
            group.addTask {
                await reuser.stage.run()
                return .work
            }
            for pipeline in pipelines {
                group.addTask {
                    await pipeline.run()
                    return .work
                }
            }
            var working = pipelines.count + 2
            for await part in group {
                if case .work = part { working -= 1 }
                if part == .cancellation || working == 0 { group.cancelAll() }
            }
        }
        await context.waiting.monitor.stopFollowing()
        await context.waiting.probes.run { show(nil) }
        await scheduler.settleLeftovers()
    }

    /// Shows what the run does, unless the folder is another run's by now.
    private func show(_ progress: RunProgress?) {
        if context.health.lock.holdsFolder { context.output.show(progress) }
    }

    private enum Part { case work, cancellation }

    private func stallDetector() -> StallDetector? {
        context.options.rules.stall.map { policy in
            StallDetector(
                limit: policy.seconds,
                itemLimit: policy.itemSeconds,
                isPaused: { [gate] in gate.isHolding },
                action: { [journal = context.journal, time = context.time] stuck in
                    recordStuckItems(stuck, in: journal, at: time.wallClock.timestamp)
                    policy.act(on: stuck)
                }
            )
        }
    }

    private func pipelines(_ stalls: StallDetector?) -> (of: [any RunnablePipeline], reuser: Reuser) {
        let facts = RunFacts(
            startedAt: context.time.wallClock.timestamp,
            hostName: ProcessInfo.processInfo.hostName,
            threads: context.options.resources.threads,
            budgetBytes: context.limits.memoryBytes,
            version: context.options.description.version,
            engineBytes: engineBytes,
            budget: budget
        )
        let environment = StageEnvironment(
            pool: context.pool,
            blocking: context.blocking,
            receiver: scheduler,
            progress: context.progress,
            gate: gate,
            stalls: stalls,
            health: context.health,
            time: context.time,
            device: context.device
        )
        let committer = Committer(output: context.output, journal: context.journal, environment: environment)
        return (
            context.recipes.map { pipeline(of: $0, environment, committer, facts) }, Reuser(environment, committer)
        )
    }

    private func pipeline<R: Recipe>(
        of recipe: R,
        _ environment: StageEnvironment,
        _ committer: Committer,
        _ facts: RunFacts
    ) -> any RunnablePipeline {
        Pipeline(recipe: recipe, environment: environment, committer: committer, facts: facts)
    }
}
