import NocturneConcurrency
import NocturneCore
import NocturneJournal
public import NocturneSystem

/// Runs a batch: locks the output folder, opens the journal, and lets a ``BatchRun`` discover and process the inputs and
/// report on them.
public struct BatchEngine: Sendable {
    let recipes: [any Recipe]
    let options: BatchOptions
    let control: RunControl
    let progress: ProgressReporter
    let time: any TimeSource

    /// - Parameter recipes: one for each kind of model in use.
    public init(
        recipes: [any Recipe],
        options: BatchOptions,
        control: RunControl,
        progress: ProgressReporter,
        time: any TimeSource = SystemTime()
    ) {
        self.recipes = recipes
        self.options = options
        self.control = control
        self.progress = progress
        self.time = time
    }

    /// Runs the batch to its end, or until it is stopped.
    /// - Throws: ``BatchError`` for errors of the batch itself; errors of items are in the report.
    public func run() async throws -> BatchOutcome {
        let pools = try Pools(threads: options.resources.threads)
        defer { pools.shutdown() }
        let monitor = MachineMonitor(
            control: control,
            progress: progress,
            time: time,
            probes: pools.probes,
            watch: options.rules.watch,
            readMemory: { [sampler = pools.sampler] in await sampler.run { MemoryReading.take() } }
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await monitor.run() }
            defer { group.cancelAll() }
            return try await run(pools, monitor)
        }
    }

    /// The threads of a run.
    private struct Pools {
        let compute: ComputePool
        /// For reading, writing and removing files.
        let blocking: BlockingPool
        /// For short questions to the system, which must not wait behind long reads and writes.
        let probes: BlockingPool
        /// For the memory alone, which is watched also while a share hangs.
        let sampler: BlockingPool

        /// - Throws: ``BatchError`` when the system does not start so many threads.
        init(threads: Int) throws(BatchError) {
            var started: [BlockingPool] = []
            do throws(ThreadStartError) {
                for width in [4, 2, 1] { started.append(try BlockingPool(width: width)) }
                compute = try ComputePool(width: threads)
            } catch {
                for pool in started { pool.shutdown() }
                throw BatchError(.threadsUnavailable, path: "", detail: "\(error)", systemCode: error.systemCode)
            }
            (blocking, probes, sampler) = (started[0], started[1], started[2])
        }

        func shutdown() {
            sampler.shutdown()
            probes.shutdown()
            blocking.shutdown()
            compute.shutdown()
        }
    }

    private func run(_ pools: Pools, _ monitor: MachineMonitor) async throws -> BatchOutcome {
        var waiting = RunWaiting(
            control: control,
            progress: progress,
            time: time,
            monitor: monitor,
            probes: pools.probes
        )
        func disk() -> DiskSpaceMonitor {
            let places = [options.output.path, options.work].compactMap(\.self)
            return DiskSpaceMonitor(places: places, policy: options.rules.onFull, waiting: waiting)
        }
        let output = options.output
        let place = try await pools.blocking.run { [recipes, options] in
            let place = OutputPlace(output)
            try place.check(inputs: options.description.inputs, home: OutputPlace.home)
            try output.checkReportsAreOwn()
            if place.isNew { try ItemProcessing.checkBudget(recipes, options.resources) }
            return place
        }
        let taken = try await disk().retryingWhenFull {
            try await pools.blocking.run { () throws(BatchError) in try output.create() }
            return try await acquire(pools.blocking)
        }
        guard let lock = taken else { return lostOutcome() }
        waiting.lock = lock
        await progress.writeEvents(while: { lock.holdsFolder })
        let journal = try await disk().retryingWhenFull {
            if lock.isTakenOver { try await Journal.replaceFile(at: output.journal) }
            return try await Journal(
                path: output.journal,
                lockPatience: waiting.journalPatience,
                mayWrite: { lock.holdsFolder }
            )
        }
        async let _ = keepClaim(lock, journal, pools.probes)
        var result: Result<BatchOutcome, any Error>
        do {
            var options = self.options
            options.output = try await disk().retryingWhenFull {
                try await withStagingFolder(output, lock, journal, pools.blocking)
            }
            let changed = try await disk().retryingWhenFull { try await agree(with: journal) }
            await progress.emit(BatchEvent(.batchStarted))
            let (recovery, limits) = try await disk().retryingWhenFull {
                (try await recover(journal, pools.blocking), try await RunLimits(options, journal, time: time))
            }
            let context = RunContext(
                recipes: recipes,
                options: options,
                limits: limits,
                journal: journal,
                pool: pools.compute,
                blocking: pools.blocking,
                disk: disk(),
                health: OutputHealth(output: options.output, lock: lock, time: time, probes: pools.probes),
                waiting: waiting
            )
            result = await run(context, recovery, descriptionChanged: changed)
            await pools.blocking.run { [options] in WorkFolder.removeIfEmpty(options.output) }
        } catch {
            result = .failure(error)
        }
        if case .failure = result, await !pools.probes.run({ lock.holdsFolder }) {
            // Whatever failed then: the folder belongs to another run.
            result = .success(lostOutcome())
        }
        await waiting.publish(nil)
        var isRefused = false
        if case .failure(let error as BatchError) = result, error.refusesBatch {
            isRefused = (try? await journal.isEmpty()) ?? false
        }
        await journal.close()
        if isRefused {
            await progress.close()
            await pools.blocking.run { place.removeWhatWasMade() }
        }
        await pools.blocking.run { lock.release() }
        return try result.get()
    }

    /// How a run ends whose folder belongs to another run.
    private func lostOutcome() -> BatchOutcome {
        control.giveUp(BatchEngine.lossReason)
        return BatchOutcome(
            counts: BatchCounts(),
            mode: control.mode,
            peakLeasedBytes: 0,
            givenUp: control.givenUp
        )
    }

    static let lossReason = "a run on another machine has taken over the output folder"

    /// Gives signs of life to other machines until the task is cancelled. When one of them has taken over the folder, because
    /// this machine was silent for too long, the run ends and the journal is left to the other.
    private func keepClaim(_ lock: BatchLock, _ journal: Journal, _ probes: BlockingPool) async {
        while (try? await time.sleep(for: ClaimStateMachine.beat)) != nil {
            guard await probes.run({ lock.beat() }) else {
                await journal.abandon()
                await progress.note("Stopping: \(BatchEngine.lossReason).")
                return control.giveUp(BatchEngine.lossReason)
            }
        }
    }

    /// The run itself, between the two ends of its trace.
    private func run(
        _ context: RunContext,
        _ recovery: CrashRecoveryStateMachine,
        descriptionChanged: Bool
    ) async -> Result<BatchOutcome, any Error> {
        let folder = options.output.discoveryTrace
        let trace = await context.blocking.run { DiscoveryTrace(folder: folder) }
        let run = BatchRun(context, recovery, trace, descriptionChanged: descriptionChanged)
        let result: Result<BatchOutcome, any Error>
        do {
            result = .success(try await run.run())
        } catch {
            result = .failure(error)
        }
        await context.blocking.run { [lock = context.health.lock] in if lock.holdsFolder { trace.remove() } }
        return result
    }
}
