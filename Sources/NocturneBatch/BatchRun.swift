import CPosix
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// One run of a batch: rounds of searching the inputs, processing what is to be done, and reporting. There is one round,
/// unless sources change meanwhile or the inputs are watched.
actor BatchRun {
    let context: RunContext
    /// Files that did not answer when they were read.
    let unresponsive: UnresponsiveFiles
    let trace: DiscoveryTrace
    /// What a watch has seen of inputs that may still change.
    var settling: SettlingInputs
    let recovery: CrashRecoveryStateMachine
    private let report: BatchReportWriter
    /// Whether the batch continues with other inputs or options than it was started with.
    private let descriptionChanged: Bool

    /// Files are read one after the other, so that a second crash shows which file caused it.
    var readsOneByOne: Bool
    private(set) var roundCount = 0
    /// Rounds in a row that failed.
    private var failedRounds = 0
    /// How long the last search of the inputs took; nil when it failed.
    private var searchTime: Duration?
    private var needsDiscovery = false
    /// The pilot that this round processes, and nothing else; nil for all items.
    private var pilot: (limit: Int, needsApproval: Bool)?
    /// Whether the others now wait for the approval of the pilot.
    private var isApprovalDue = false
    private var counts = BatchCounts()
    private var breaker: CircuitBreaker
    private var remarks: ReportRemarks?
    private var figures = RunFigures()
    /// What the process takes without its models, as it was in the first round: what the recipes keep between rounds would
    /// count as shared.
    private var processBytes: Int?
    /// Notes about the inputs that were shown already.
    private var shownNotes: Set<String> = []
    /// Inputs that did not exist when the run began.
    var missingAtFirst: Set<String> = []

    /// After this number of rounds, sources that still change are left to the next run.
    private static let mostRounds = 4

    /// - Parameters:
    ///   - recovery: what is known of the engine before this one.
    ///   - trace: where discovery records what it reads.
    ///   - descriptionChanged: whether the batch continues with other inputs or options than it was started with.
    init(
        _ context: RunContext,
        _ recovery: CrashRecoveryStateMachine,
        _ trace: DiscoveryTrace,
        descriptionChanged: Bool
    ) {
        self.context = context
        self.recovery = recovery
        self.descriptionChanged = descriptionChanged
        let options = context.options
        let hasCrashed = options.supervision.previousCrash != nil
        let limits = recovery.discoveryLimits
        // Whoever limits the time of items, or has just been stuck, does not want to be stuck in reading headers.
        unresponsive = UnresponsiveFiles(
            patience: options.rules.stall?.itemSeconds.map { min($0, 30) } ?? (hasCrashed ? 30 : nil),
            remembered: limits.unresponsiveFiles,
            reasons: limits.excludedFiles,
            time: context.time
        )
        readsOneByOne = limits.readsOneByOne
        settling = SettlingInputs(
            quiet: .seconds(options.rules.watch?.quietSeconds ?? 0),
            identifiers: options.description.identifiers
        )
        self.trace = trace
        report = BatchReportWriter(context: context)
        breaker = CircuitBreaker(options.rules.stop)
    }

    var isFirstRound: Bool { roundCount == 0 }

    /// Runs to the end, or until it is stopped.
    func run() async throws -> BatchOutcome {
        let (control, progress, watch) = (context.control, context.progress, context.options.rules.watch)
        try await beginPilot()
        var needsAnother: Bool
        repeat {
            let start = context.time.monotonic
            do {
                try await round()
                failedRounds = 0
            } catch let error where mayPass(error) {
                failedRounds += 1
                await progress.note("\(error). This round failed; retrying later.")
            }
            let search = searchTime ?? context.time.monotonic - start
            roundCount += 1
            // They wait in another round: the models of the pilot take no memory then.
            needsAnother = isApprovalDue || needsDiscovery && roundCount < BatchRun.mostRounds
            if let watch {
                let pause = watch.pause(afterSearch: search, failures: failedRounds)
                needsAnother = await watch.waitForNextRound(pause, context.waiting)
            }
        } while needsAnother && control.mode == .running
        await watch?.end(context.waiting)
        if settling.waiting > 0 {
            await progress.note("inputs that may still change: \(settling.waiting), left to the next run")
        }
        await context.pauses.update()
        // A watch waits for inputs most of the time.
        if watch == nil, let advice = figures.advice { await progress.note(advice) }
        var end = BatchEvent(.batchFinished)
        (end.done, end.total, end.failed) = (counts.completed, counts.inputs, counts.failed)
        await progress.emit(end)
        await progress.close()
        return BatchOutcome(
            counts: counts,
            mode: control.mode,
            givenUp: control.givenUp,
            isTripped: control.isTripped,
            remarks: remarks
        )
    }

    /// Whether a watch can hope that the next round succeeds: shares come back, and tables are written to their ends.
    private func mayPass(_ error: any Error) -> Bool {
        context.options.rules.watch != nil && !isFirstRound && context.control.mode == .running
            && failedRounds < FolderWatcher.mostFailedRounds && !(error is CancelledError)
    }

    /// Searches the inputs, processes what is to be done, and brings the report up to date.
    private func round() async throws {
        let count = try await findWork()
        readsOneByOne = false
        // What the search has used goes back to the system before items are measured.
        cposix_trim_heap()
        if count > 0, mayProcess() {
            try await report.writeFirst()
            try await process(count)
            // Crashes outside items no longer come in a row.
            try await context.journal.changeCrashes { $0.crashesOutsideItems = 0 }
        }
        if let watch = context.options.rules.watch, let retention = watch.retention, count > 0 || isFirstRound {
            try await ExpiredResults(context: context, retention: retention, drops: watch.drops).remove()
        }
        (counts, remarks) = try await report.bringUpToDate()
        cposix_trim_heap()
        if let pilot, counts.notReached > 0, context.control.mode == .running { await end(pilot.needsApproval) }
    }

    /// Searches the inputs and records what is to be done.
    /// - Returns: how many items are to be processed.
    private func findWork() async throws -> Int {
        (needsDiscovery, isApprovalDue) = (false, false)
        searchTime = nil
        let start = context.time.monotonic
        let found = try await discover()
        searchTime = context.time.monotonic - start
        let notes = found.notes.filter { shownNotes.insert($0).inserted }
        var reconciliation = Reconciliation(
            recipes: context.recipes,
            journal: context.journal,
            output: context.output,
            blocking: context.blocking,
            control: context.control,
            progress: context.progress
        )
        reconciliation.descriptionChanged = descriptionChanged && isFirstRound
        if context.output.shard == nil {
            reconciliation.withdrawn = WithdrawnResults(
                context.options.description,
                withUnselected: reconciliation.descriptionChanged && context.options.rules.watch == nil
            )
        }
        reconciliation.reportsAll = isFirstRound
        pilot = try await openPilot()
        reconciliation.limit = pilot?.limit
        reconciliation.order = context.options.rules.order ?? (pilot == nil ? .path : .spread)
        (reconciliation.trace, reconciliation.time) = (trace, context.time)
        // What failed in this very run is not tried again.
        let planner = WorkPlanner(
            retries: isFirstRound ? context.options.rules.retries : .none,
            identifiers: context.options.description.identifiers,
            inputs: context.options.description.inputs
        )
        return try await context.disk.retryingWhenFull { [reconciliation] in
            try await reconciliation.run(notes: notes, planner: planner)
        }
    }

    /// What the process takes without its models.
    private func measuredProcessBytes() async -> Int {
        if let processBytes { return processBytes }
        let reading = await context.waiting.probes.run { MemoryReading.take() }
        let bytes = context.options.resources.processBytes(by: reading)
        processBytes = bytes
        return bytes
    }

    /// Processes the items of one round.
    private func process(_ count: Int) async throws {
        let counts = BatchCounts(try await context.journal.stateCounts())
        for model in context.options.description.models where model.demonstration == true {
            await context.progress.note("\(model.id): \(Disclaimer.demonstration)")
        }
        await context.progress.note(
            StartText.work(
                counts,
                queued: count,
                threads: context.options.resources.threads,
                memoryBytes: context.limits.memoryBytes
            )
        )
        let current = CurrentReport(time: context.time) { [report] in await report.writeMeanwhile() }
        let processing = try await ItemProcessing(
            count,
            context,
            processBytes: await measuredProcessBytes(),
            breaker,
            current
        )
        figures.add(await processing.run())
        await current.idle()
        breaker = await processing.scheduler.breaker
        needsDiscovery = await processing.scheduler.needsDiscovery
    }
}

// MARK: The pilot

extension BatchRun {
    /// Records that the batch needs the approval of a pilot, before anything is processed. It needs none for what was approved, unless
    /// inputs, models or options are others by now.
    private func beginPilot() async throws {
        guard let count = context.options.rules.pilot, context.options.rules.needsApproval else { return }
        if let earlier = try await context.journal.value(of: .pilot), !earlier.isApproved || !descriptionChanged {
            return
        }
        let completed = try await context.journal.stateCounts()[.completed] ?? 0
        try await context.journal.set(.pilot, to: Pilot(count: count, completedBefore: completed))
    }

    /// What is left of a pilot; nil where all items are processed, or wait for its approval.
    private func openPilot() async throws -> (limit: Int, needsApproval: Bool)? {
        let rules = context.options.rules
        // An approval that came meanwhile is recorded then.
        await context.pauses.update()
        guard let recorded = try await context.journal.value(of: .pilot), !recorded.isApproved else {
            return rules.needsApproval ? nil : rules.pilot.map { ($0, false) }
        }
        if context.control.pause?.awaitsApproval == true { return nil }
        let completed = try await context.journal.stateCounts()[.completed] ?? 0
        // A damaged journal may have any numbers.
        return (max(recorded.count &- max(completed &- recorded.completedBefore, 0), 0), true)
    }

    /// Lets a person look at the results of the pilot, since its items have ended and others are left.
    private func end(_ needsApproval: Bool) async {
        let (output, control) = (context.output, context.control)
        let command = needsApproval ? "approve" : "resume"
        await context.progress.note(
            "The pilot is done, \(counted(counts.notReached, "item")) left. Look at \(output.page), then continue with: "
                + "nocturne \(command) \(output.path)"
        )
        guard needsApproval else { return control.endPilot() }
        isApprovalDue = true
        control.pause(RunPause(since: context.time.wallClock.seconds, awaitsApproval: true))
        await context.pauses.update()
        _ = mayProcess()
    }

    /// Ends a run that is not to wait for the approval of a pilot.
    /// - Returns: false then.
    private func mayProcess() -> Bool {
        guard !context.options.rules.waitsForApproval, context.control.pause?.awaitsApproval == true else {
            return true
        }
        context.control.endPilot()
        return false
    }
}
