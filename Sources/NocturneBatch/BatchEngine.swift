import NocturneConcurrency
import NocturneJournal
import NocturneOutput
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

        /// - Throws: ``BatchError`` when the system does not start that number of threads.
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

    /// The output folder while this run has it.
    private struct OpenBatch {
        let place: OutputFolder.Place
        let lock: BatchLock
        let journal: Journal
        let waiting: RunWaiting
        let disk: DiskSpaceMonitor
        let pauses: PauseKeeper
    }

    private func run(_ pools: Pools, _ monitor: MachineMonitor) async throws -> BatchOutcome {
        guard let batch = try await open(pools, monitor) else { return lostOutcome() }
        async let _ = keepClaim(batch.lock, batch.journal, pools.probes)
        let result = await withTaskGroup(of: Void.self) { group in
            group.addTask { await batch.pauses.run() }
            defer { group.cancelAll() }
            return await work(on: batch, pools)
        }
        return try await close(batch, result, pools)
    }

    /// Locks the output folder and opens the journal.
    /// - Returns: nil when a run on another machine has the folder by now.
    private func open(_ pools: Pools, _ monitor: MachineMonitor) async throws -> OpenBatch? {
        let output = options.output
        // What can be refused without the folder is checked before it is made: a mistyped path leaves nothing behind.
        let place = try await pools.blocking.run { [recipes, options] in
            let place = OutputFolder.Place(output)
            try place.check(inputs: options.description.inputs)
            try output.checkReportsAreOwn()
            if place.isNew { try ItemProcessing.checkBudget(recipes, options.resources) }
            return place
        }
        var waiting = RunWaiting(
            control: control,
            progress: progress,
            time: time,
            monitor: monitor,
            probes: pools.probes
        )
        func disk() -> DiskSpaceMonitor {
            let places = [output.path, options.work].compactMap(\.self)
            return DiskSpaceMonitor(places: places, policy: options.rules.onFull, waiting: waiting)
        }
        let taken = try await disk().retryingWhenFull {
            try await pools.blocking.run { () throws(BatchError) in try output.create() }
            return try await acquire(pools.blocking)
        }
        guard let lock = taken else { return nil }
        waiting.lock = lock
        await progress.writeEvents(while: { lock.holdsFolder })
        // Events are written, and the journal is opened, only with the lock: a folder that was taken over has its files replaced
        // first.
        let journal = try await disk().retryingWhenFull { [waiting] in
            if lock.isTakenOver { try await Journal.replaceFile(at: output.journal) }
            return try await Journal(
                path: output.journal,
                lockPatience: waiting.journalPatience,
                mayWrite: { lock.holdsFolder }
            )
        }
        return OpenBatch(
            place: place,
            lock: lock,
            journal: journal,
            waiting: waiting,
            disk: disk(),
            pauses: PauseKeeper(journal, waiting)
        )
    }

    /// Recovers what the engine before this one has left, and runs the batch.
    private func work(on batch: OpenBatch, _ pools: Pools) async -> Result<BatchOutcome, any Error> {
        let (lock, journal, disk) = (batch.lock, batch.journal, batch.disk)
        var result: Result<BatchOutcome, any Error>
        do {
            var options = self.options
            options.output = try await disk.retryingWhenFull {
                try await withStagingFolder(self.options.output, lock, journal, pools.blocking)
            }
            let reusable = try await disk.retryingWhenFull { [progress] in
                try await ReusableResults(self.options.reuse, journal) { await progress.note($0) }
            }
            let changes = try await disk.retryingWhenFull { try await agree(with: journal, pools.blocking) }
            try await disk.retryingWhenFull { try await batch.pauses.restore() }
            await progress.emit(BatchEvent(.batchStarted))
            let (recovery, limits) = try await disk.retryingWhenFull {
                (try await recover(journal, pools.blocking), try await RunLimits(self.options, journal, time: time))
            }
            let context = RunContext(
                recipes: recipes,
                options: options,
                limits: limits,
                journal: journal,
                pool: pools.compute,
                blocking: pools.blocking,
                disk: disk,
                health: OutputHealth(output: options.output, lock: lock, time: time, probes: pools.probes),
                waiting: batch.waiting,
                pauses: batch.pauses,
                reusable: reusable
            )
            result = await run(context, recovery, changes)
            await reusable?.close()
            await pools.blocking.run { [options] in options.output.removeEmptyWorkFolder() }
        } catch {
            result = .failure(error)
        }
        if case .failure = result, await !pools.probes.run({ lock.holdsFolder }) {
            // Whatever failed then: the folder belongs to another run.
            result = .success(lostOutcome())
        }
        return result
    }

    /// Closes the journal and releases the folder. What was made for a batch that is refused is removed.
    private func close(
        _ batch: OpenBatch,
        _ result: Result<BatchOutcome, any Error>,
        _ pools: Pools
    ) async throws -> BatchOutcome {
        await batch.waiting.publish(nil)
        var isRefused = false
        if case .failure(let error as BatchError) = result, error.refusesBatch {
            isRefused = (try? await batch.journal.isEmpty()) ?? false
        }
        if case .success(let outcome) = result, outcome.givenUp == nil, outcome.counts.notReached == 0 {
            await batch.pauses.batchEnded()
        }
        // What came too late for this run, or before it processed anything, holds for the next one.
        for request in control.takeFirst() { try? await batch.journal.putFirst(request.names) }
        await batch.journal.close()
        if isRefused {
            await progress.close()
            await pools.blocking.run { [place = batch.place] in place.removeWhatWasMade() }
        }
        await pools.blocking.run { [lock = batch.lock] in lock.release() }
        return try result.get()
    }

    /// How a run ends whose folder belongs to another run.
    private func lostOutcome() -> BatchOutcome {
        control.giveUp(OutputHealth.lossReason)
        return BatchOutcome(counts: BatchCounts(), mode: control.mode, givenUp: control.givenUp)
    }

    /// Gives signs of life to other machines until the task is cancelled. When one of them has taken over the folder, because
    /// this machine was silent for too long, the run ends and the journal is left to the other.
    private func keepClaim(_ lock: BatchLock, _ journal: Journal, _ probes: BlockingPool) async {
        while (try? await time.sleep(for: ClaimStateMachine.beat)) != nil {
            guard await probes.run({ lock.beat() }) else {
                await journal.abandon()
                await progress.noteStop("Stopping: \(OutputHealth.lossReason).")
                return control.giveUp(OutputHealth.lossReason)
            }
        }
    }

    /// The run itself, between the two ends of its trace.
    private func run(
        _ context: RunContext,
        _ recovery: CrashRecoveryStateMachine,
        _ changes: BatchDescription.Changes?
    ) async -> Result<BatchOutcome, any Error> {
        let folder = options.output.discoveryTrace
        let trace = await context.blocking.run { DiscoveryTrace(folder: folder) }
        let run = BatchRun(context, recovery, trace, descriptionChanged: changes?.isEmpty == false)
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
