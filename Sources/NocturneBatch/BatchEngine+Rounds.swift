import CPosix
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// A round looks at the inputs, works off what is to be done, and accounts for it.
extension BatchEngine {
    /// Rounds of discovery and work: one, unless sources change meanwhile or the inputs are watched.
    func work(
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        room: DiskSpaceMonitor,
        health: OutputHealth,
        changed: Bool
    ) async throws -> BatchOutcome {
        await progress.emit(BatchEvent(.batchStarted))
        let limits = try await room.whenThereIsRoom(control, progress) {
            try await settleDeath(journal)
            if options.previousDeath == nil, journal.silentPaths()?.isEmpty == false { try journal.keepSilent([]) }
            if options.previousDeath == nil, try journal.setting("poison") != nil { try journal.keep(CrashingFiles()) }
            return try RunLimits(options, journal)
        }
        let trace = DiscoveryTrace(folder: options.output.looks)
        defer { trace.remove() }
        let poison = options.previousDeath == nil ? CrashingFiles() : try journal.poison()
        var state = RunState(
            silent: silentFiles(journal, poison),
            trace: trace,
            looksOneByOne: !poison.suspects.isEmpty,
            isChanged: changed
        )
        let accounting = BatchReportWriter(
            recipes: recipes,
            journal: journal,
            output: options.output,
            description: options.description,
            control: control,
            progress: progress,
            room: room,
            health: health
        )
        var needsAnother: Bool
        repeat {
            let start = ContinuousClock.now
            do {
                try await round(&state, limits, journal, pool, blocking, room: room, health: health, accounting)
                state.faults = 0
            } catch let fault where isPassing(fault, state) {
                state.faults += 1
                await progress.note("\(fault). This round came to nothing; the next one is waited for.")
            }
            let look = state.look ?? ContinuousClock.now - start
            state.rounds += 1
            needsAnother = state.needsDiscovery && state.rounds < BatchEngine.mostRounds
            if let watch = options.watch {
                needsAnother = await watch.waitForNextRound(after: look, faults: state.faults, control)
            }
        } while needsAnother && control.mode == .running
        await progress.emit(
            BatchEvent(
                .batchFinished,
                done: state.counts.completed,
                total: state.counts.inputs,
                failed: state.counts.failed
            )
        )
        await progress.close()
        return BatchOutcome(
            counts: state.counts,
            mode: control.mode,
            peakLeasedBytes: state.peakLeasedBytes,
            givenUp: control.givenUp
        )
    }

    /// What one round leaves to the next.
    private struct RunState {
        let silent: UnresponsiveFiles
        let trace: DiscoveryTrace
        /// So that a second death tells which file it was.
        var looksOneByOne: Bool
        let isChanged: Bool
        var rounds = 0
        /// Rounds in a row that came to nothing.
        var faults = 0
        /// How long the last look at the inputs took.
        var look: Duration?
        var needsDiscovery = false
        var counts = BatchCounts()
        var peakLeasedBytes = 0
        /// What the process takes without its models, as it was in the first round: what the recipes keep between rounds
        /// would count as shared.
        var processBytes: Int?
        /// What was said about the inputs already.
        var told: Set<String> = []
    }

    /// Whether a watch can hope that the next round goes better: shares come back, and tables are written to their ends.
    private func isPassing(_ error: any Error, _ state: RunState) -> Bool {
        options.watch != nil && state.rounds > 0 && control.mode == .running && state.faults < FolderWatcher.mostFaults
            && !(error is CancelledError)
    }

    /// Looks at the inputs, works off what is to be done, and brings the account up to date.
    private func round(
        _ state: inout RunState,
        _ limits: RunLimits,
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        room: DiskSpaceMonitor,
        health: OutputHealth,
        _ accounting: BatchReportWriter
    ) async throws {
        let isFirst = state.rounds == 0
        state.needsDiscovery = false
        state.look = nil
        let start = ContinuousClock.now
        var discovery = try await discover(journal, pool, blocking, state, isFirst: isFirst)
        state.look = ContinuousClock.now - start
        discovery.notes.removeAll { !state.told.insert($0).inserted }
        let stock = Reconciliation(
            recipes: recipes,
            journal: journal,
            output: options.output,
            control: control,
            progress: progress,
            threads: options.threads,
            descriptionChanged: state.isChanged && isFirst,
            tellsAll: isFirst,
            trace: state.trace
        )
        // What failed in this very run is not tried again.
        let planner = WorkPlanner(
            retryFailed: isFirst && options.retryFailed,
            previousDeath: isFirst ? options.previousDeath : nil
        )
        let queue = try await room.whenThereIsRoom(control, progress) { [discovery] in
            try await stock.run(discovery, planner: planner)
        }
        state.looksOneByOne = false
        cposix_trim_heap()
        let process = state.processBytes ?? processBytes()
        state.processBytes = process
        let end = try await workOff(
            queue,
            limits,
            journal,
            pool,
            blocking,
            processBytes: process,
            room: room,
            health: health
        )
        state.needsDiscovery = end.needsDiscovery
        state.peakLeasedBytes = max(state.peakLeasedBytes, end.peakLeasedBytes)
        if !queue.isEmpty { try journal.forgetDeathsOutsideItems() }
        state.counts = try await accounting.bringUpToDate()
        cposix_trim_heap()
    }

    /// After so many rounds sources that go on changing are left to the next run.
    private static let mostRounds = 4

    /// What the process takes without its models, with the lists of all items.
    private func processBytes() -> Int {
        options.processBytes ?? max((MemoryReading.take().residentBytes ?? 0) - options.loadedBytes, 0)
    }

    /// Files that an engine before this one was stuck in are known from the start.
    private func silentFiles(_ journal: Journal, _ poison: CrashingFiles) -> UnresponsiveFiles {
        // Whoever gives items their time, or has just been stuck, does not want to be stuck in reading headers.
        UnresponsiveFiles(
            patience: options.stall?.itemSeconds.map { min($0, 30) } ?? (options.previousDeath == nil ? nil : 30),
            remembered: stuckFiles(journal),
            reasons: poison.reasons
        )
    }

    private func stuckFiles(_ journal: Journal) -> [String] {
        options.previousDeath == nil ? [] : journal.silentPaths() ?? []
    }

    private func discover(
        _ journal: Journal,
        _ pool: ComputePool,
        _ blocking: BlockingPool,
        _ state: RunState,
        isFirst: Bool
    ) async throws -> Discovery {
        let isNew = try journal.items().isEmpty
        let silent = state.silent
        silent.beginAnew()
        let request = DiscoveryRequest(
            inputs: options.description.inputs,
            include: options.description.include,
            exclude: options.description.exclude,
            pruned: [options.output.path],
            toleratesMissing: !isNew || !isFirst,
            silent: silent,
            trace: state.trace,
            identifiers: IdentifierPolicy(words: options.description.options)
        )
        let settled = Set(try journal.items().filter { $0.state == .failed }.map(\.path))
            .intersection(stuckFiles(journal))
        let flag = control.flag(for: "")
        let looksOneByOne = state.looksOneByOne
        let routes = options.description.routes
        let discovery = try await blocking.run { [recipes, options] in
            let scope = ComputeScope(pool: looksOneByOne ? nil : pool, flag: flag)
            var found = Discovery.merged(try recipes.map { try $0.discover(request, scope: scope) }, routes: routes)
            found.account(for: silent)
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
}
