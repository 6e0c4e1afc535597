import NocturneConcurrency
import NocturneCore
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
        let pools = Pools(threads: options.resources.threads)
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
        let blocking = BlockingPool(width: 4)
        /// For short questions to the system, which must not wait behind long reads and writes.
        let probes = BlockingPool(width: 2)
        /// For the memory alone, which is watched also while a share hangs.
        let sampler = BlockingPool(width: 1)

        init(threads: Int) { compute = ComputePool(width: threads) }

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
            DiskSpaceMonitor(path: options.output.path, policy: options.rules.onFull, waiting: waiting)
        }
        let lock = try await disk().retryingWhenFull {
            try await pools.blocking.run { [options] in
                try options.output.create()
                return try BatchLock(options.output, handedOn: options.supervision.lock)
            }
        }
        waiting.lock = lock
        let journal = try await disk().retryingWhenFull {
            try await pools.blocking.run { [options] in try Journal(path: options.output.journal) }
        }
        let result: Result<BatchOutcome, any Error>
        do {
            let changed = try await disk().retryingWhenFull { try await agree(with: journal) }
            await progress.emit(BatchEvent(.batchStarted))
            let limits = try await disk().retryingWhenFull { try await settleLastRun(journal) }
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
            result = .success(try await BatchRun(context, descriptionChanged: changed).run())
        } catch {
            result = .failure(error)
        }
        await waiting.publish(nil)
        await journal.close()
        return try result.get()
    }

    /// Settles what the engine before this one left, and what this run is held to.
    private func settleLastRun(_ journal: Journal) async throws -> RunLimits {
        try await settleDeath(journal)
        if options.supervision.previousCrash == nil {
            if try await journal.silentPaths()?.isEmpty == false { try await journal.keepSilent([]) }
            if try await journal.setting("poison") != nil { try await journal.keep(CrashingFiles()) }
        }
        return try await RunLimits(options, journal)
    }
}
