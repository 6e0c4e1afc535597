import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem

/// What is done before discovery: is it the same batch, and how did the last engine end?
extension BatchEngine {
    /// - Returns: nil when a run on another machine has the folder that an engine of this run had before it crashed.
    /// - Throws: ``BatchError``; `CancelledError`.
    func acquire(_ blocking: BlockingPool) async throws -> BatchLock? {
        do {
            return try await BatchLock.acquire(
                options.output,
                handedOn: options.supervision.lock,
                run: options.supervision.supervisor,
                waiting: BatchLock.Waiting(
                    pool: blocking,
                    time: time,
                    goesOn: { [control] in control.mode == .running },
                    note: { [progress] in await progress.note($0) }
                )
            )
        } catch let error as BatchError where error.code == .outputInUse && options.supervision.previousCrash != nil {
            return nil
        }
    }

    /// The output folder with the staging folder of this run, which exists then.
    func withStagingFolder(
        _ output: OutputFolder,
        _ lock: BatchLock,
        _ journal: Journal,
        _ blocking: BlockingPool
    ) async throws -> OutputFolder {
        let recorded = try await journal.value(of: .stagingFolder)
        let name = OutputFolder.stagingName(recorded: recorded, takenOver: lock.isTakenOver ? lock.generation : nil)
        var output = output
        output.stagingName = name
        output.work = try await blocking.run { [output, work = options.work] () throws(BatchError) in
            guard let work else { return nil }
            return try output.makeWorkFolder(in: work)
        }
        try await blocking.run { [output] () throws(FileSystemError) in
            try output.prepareStaging(before: recorded ?? OutputFolder.firstStaging)
        }
        if name != recorded ?? OutputFolder.firstStaging { try await journal.set(.stagingFolder, to: name) }
        return output
    }

    /// Compares with the description of an earlier run in the same folder, and records this one's. New inputs and models are
    /// added to any batch; what makes results again, or takes them out of the batch, has to be confirmed.
    /// - Returns: how the batch continues with another description; nil for a new one, and for the same description.
    /// - Throws: ``BatchError`` when results would be affected and nobody has confirmed that.
    func agree(with journal: Journal, _ blocking: BlockingPool) async throws -> BatchDescription.Changes? {
        if options.output.shard == nil, let plan = try await journal.value(of: .shardPlan) {
            throw BatchError.divided(options.output, into: plan.shards.count)
        }
        if let ranges = options.rules.referenceRanges { try await journal.expect(ranges) }
        let earlier = try await journal.value(of: .batchDescription)
        if let earlier, earlier == options.description { return nil }
        let changes = earlier.map { options.description.changes(from: $0) }
        // Before they are recorded: a later run would have to give a mistyped path again.
        let added = Set(options.description.inputs).subtracting(earlier?.inputs ?? options.description.inputs)
        try await blocking.run { () throws(BatchError) in
            for input in added.sorted() where !FileSystem.exists(input) {
                throw BatchError(.inputMissing, path: "", detail: FileWalk.missing(input))
            }
        }
        if let changes, !changes.differences.isEmpty, !options.rules.isChangeConfirmed {
            let results = try await journal.stateCounts()[.completed] ?? 0
            // Which of the results they concern is known once the inputs have been searched.
            guard results == 0 else {
                let step =
                    "--dry-run shows which results this concerns (the batch has \(results)). Give --yes to continue, or start a "
                    + "batch in another folder."
                throw BatchError(
                    .optionsDiffer,
                    path: options.output.path,
                    detail: "\(changes.differences.joined(separator: "; ")). \(step)"
                )
            }
        }
        if earlier == nil {
            let edits = await blocking.run { [output = options.output] in EditedLabels.kept(in: output) }
            for edit in edits { try await journal.keep(edit) }
        }
        for text in changes?.additions ?? [] { await progress.note(text) }
        let output = options.output.path
        let isAround = options.description.inputs.contains { $0 != output && FileSystem.isWithin($0, output) }
        if earlier == nil, isAround {
            await progress.note(
                "The output folder contains an input of the batch; results are written next to it. To keep them apart, choose another folder with --output."
            )
        }
        // The report names the version, the models and the options.
        if earlier != nil { try await journal.set(.isReportUpToDate, to: false) }
        try await journal.set(.batchDescription, to: options.description)
        return changes
    }

    /// Performs what ``CrashRecoveryStateMachine`` decides about the engine before this one.
    /// - Returns: the machine, which knows what discovery must not do.
    /// - Throws: ``BatchError`` with `engineDied` when the batch ends.
    func recover(_ journal: Journal, _ blocking: BlockingPool) async throws -> CrashRecoveryStateMachine {
        var machine = CrashRecoveryStateMachine(
            supervisor: options.supervision.supervisor,
            crash: options.supervision.previousCrash
        )
        let items = try await journal.items(in: .started)
        let record = try await journal.value(of: .crashes) ?? CrashRecord()
        let trace = options.output.discoveryTrace
        let reading =
            options.supervision.previousCrash == nil ? [] : await blocking.run { DiscoveryTrace.lastRead(in: trace) }
        for action in machine.engineStarted(items, record, reading: reading) {
            try await action.perform(journal, output: options.output, progress: progress, time: time)
        }
        return machine
    }
}

extension CrashRecoveryStateMachine.StartAction {
    /// - Throws: ``BatchError`` when the batch ends; ``JournalError``.
    func perform(
        _ journal: Journal,
        output: OutputFolder,
        progress: ProgressReporter,
        time: any TimeSource
    ) async throws {
        switch self {
        case .requeue(let items): try await journal.takeBack(items, at: time.wallClock.timestamp)
        case .save(let record): try await journal.set(.crashes, to: record)
        case .report(let text): await progress.note(text)
        case .endBatch(let reason): throw BatchError(.engineDied, path: output.path, detail: reason)
        }
    }
}
