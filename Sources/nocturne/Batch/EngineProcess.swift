import ArgumentParser
import CPosix
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneReview
import NocturneSupervisor
import NocturneSystem
import Synchronization

/// The engine process: runs the batch and prints the outcome.
struct EngineProcess {
    /// Everything a run needs, independent of the command.
    struct Request {
        var output: OutputFolder
        var description: BatchDescription
        var resources: ResourceArguments
        var show: OutputArguments
        var retries = RetrySelection.none
        /// Whether the command line confirms changes that affect results.
        var isChangeConfirmed = false
        /// Nothing is started that would probably not be finished at this time, in seconds since 1970; nil for no limit.
        var deadline: Int?
        /// Watches the input folders for new files; nil to process only the inputs present at the start.
        var watch: FolderWatcher?
    }

    private let request: Request
    private let handover: EngineHandover?
    private let time = Program.time
    private let control = RunControl()
    private let progress: ProgressReporter
    /// Nil when the user has given no command.
    private let hooks: HookRunner?
    private let signals: EngineSignals

    /// Runs to the end and prints the outcome.
    /// - Throws: ``NocturneExit`` unless all items completed.
    static func run(_ request: Request) async throws {
        // Large blocks go back to the system when an item has freed them.
        cposix_limit_heap()
        let handover = ProcessHandover.toEngine
        // Checked before the run: an error after hours would be late.
        if let file = request.show.trace {
            try WrittenFile.check(absolutePath(file), beginning: RunTrace.beginning)
        }
        try armFaults(request.resources, isRestart: handover?.previousEnd != nil)
        try await EngineProcess(request, handover).run()
    }

    /// - Throws: `BatchError` where `ulimit -v` leaves too little for the threads, `ThreadStartError` where `ulimit -u` does:
    ///   libdispatch would wait for ever for threads that cannot start.
    static func checkLimits(threads: Int) throws {
        let needed = ComputePool.addressSpace(width: threads)
        if let available = MemoryReading.take().addressSpaceAvailableBytes, available < needed {
            throw BatchError(
                .threadsUnavailable,
                path: "",
                detail:
                    "the limit of the address space (ulimit -v) leaves \(ByteCount(available)), and \(threads) threads need "
                    + "\(ByteCount(needed)): raise the limit, or use fewer threads with --threads"
            )
        }
        // As many as engine and supervisor have besides those that compute.
        try ComputePool(width: threads + 8).shutdown()
    }

    private static func armFaults(_ resources: ResourceArguments, isRestart: Bool) throws {
        guard let specification = try resources.faultSpecification() else { return }
        do {
            try FaultInjection.arm(specification, isRestart: isRestart)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private init(_ request: Request, _ handover: EngineHandover?) throws {
        self.request = request
        self.handover = handover
        let (onItem, onEnd) = (request.resources.attachments.onItem, request.resources.attachments.onEnd)
        let hooks =
            onItem == nil && onEnd == nil
            ? nil : try HookRunner(request.output, onItem: onItem, onEnd: onEnd, note: Terminal.printMessage)
        // The process that waits for a detached run is released by the first event.
        let begin = Once { Detachment.reportBeginning(handover) }
        let progress = ProgressReporter(
            path: request.output.events,
            view: Terminal.view(json: request.show.json, quiet: request.show.quiet),
            beforeClosing: { await hooks?.itemsEnded() }
        ) { event in
            begin()
            hooks?.handle(event)
        }
        // Those of --on-end come when the events are closed.
        hooks?.sendNotes { [progress] text in
            if await progress.isOpen { await progress.note(text) } else { Terminal.printMessage(text) }
        }
        self.hooks = hooks
        self.progress = progress
        signals = EngineSignals(
            control: control,
            time: time,
            note: { text in Task { await progress.note(text) } },
            leave: { signal, reason in
                if let reason { Terminal.printUrgently(reason) }
                EngineHandover.exit(NocturneExit(stoppedBy: signal).rawValue)
            }
        )
    }

    private func run() async throws {
        // Without a supervisor there is no name of a run, and requests do not reach it.
        let requests = ControlRequestListener(request.output, run: handover?.run ?? "") { [signals] in
            signals.perform($0)
        }
        // Signals are received before the models are loaded, which can take minutes.
        try signals.listen(ignoresHangUp: handover?.ignoresHangUp ?? false) { requests.look() }
        let (recipes, loadedBytes) = try await models()
        let engine = BatchEngine(
            recipes: recipes,
            options: try options(loadedBytes: loadedBytes),
            control: control,
            progress: progress
        )
        // Monotonic: a correction of the clock does not change the duration that is printed.
        let start = time.monotonic
        signals.batchBegins()
        let outcome: BatchOutcome
        do {
            outcome = try await requests.listen(time: time) { try await engine.run() }
        } catch {
            await progress.close()
            // An error that a signal caused has the signal's exit code.
            if let signal = signals.received { throw NocturneExit(stoppedBy: signal) }
            throw error
        }
        let code = NocturneExit(
            outcome.counts,
            mode: outcome.mode,
            signal: signals.received,
            givenUp: outcome.givenUp,
            isTripped: outcome.isTripped,
            lacking: outcome.remarks?.lacking ?? 0
        )
        writeTrace()
        // A user's command gets the exit code of the whole program, not the one between engine and supervisor.
        let isInternal = code == .tripped || code == .cannotContinue && request.watch == nil
        let shown = unwrittenEvents(code) != nil ? .internalError : isInternal ? .stoppedEarly : code
        await hooks?.batchEnded(outcome.counts, code: shown.rawValue)
        try end(outcome, code, after: time.monotonic - start)
    }

    /// A trace that cannot be written changes nothing about the run.
    private func writeTrace() {
        guard let file = request.show.trace else { return }
        do { try WrittenFile.writeTrace(of: request.output, to: absolutePath(file)) } catch {
            Terminal.printError("\(error)")
        }
    }

    /// The recipes with their models, and the memory that loading them took. Waits for models that were there when an engine
    /// before this one had begun.
    private func models() async throws -> (recipes: [any Recipe], loadedBytes: Int) {
        let load = { [description = request.description, bytes = request.resources.machine.memory?.bytes] in
            try LoadedModels.measuredRecipes(description, memoryBytes: bytes)
        }
        guard handover?.previousEnd != nil else { return try load() }
        // Without a limit of stalls the wait for models ends after a day.
        let patience = request.resources.schedule.stallLimit.seconds.map { Duration.seconds($0) } ?? .seconds(86_400)
        return try await LoadedModels.awaitingPackages(
            patience,
            control,
            time,
            note: { await progress.note($0) },
            load: load
        )
    }

    private func options(loadedBytes: Int) throws -> BatchOptions {
        // Loaded models count as memory that is taken, not as memory of items.
        var options = BatchOptions(
            output: request.output,
            description: request.description,
            resources: ResourceLimits(
                threads: request.resources.machine.width,
                memoryBytes: request.resources.machine.memory?.bytes,
                loadedBytes: loadedBytes
            ),
            rules: try rules(),
            supervision: SupervisionState(
                supervisor: handover?.run,
                previousCrash: handover?.previousEnd,
                lock: handover?.lockDescriptor
            )
        )
        options.work = request.resources.attachments.work.map { absolutePath($0) }
        options.reuse = request.resources.attachments.reusedBatches
        // Compared as absolute paths.
        guard !options.reuse.contains(request.output.path) else {
            throw ValidationError("--reuse names the output folder of this batch: its results are used anyway.")
        }
        let results = RecipeResults()
        options.page = ReviewPage { results.reviewParts(of: $0) }
        return options
    }

    private func rules() throws -> RunRules {
        var rules = RunRules()
        // A restart of the engine does not retry items that failed earlier in the same run.
        if handover?.previousEnd == nil { rules.retries = request.retries }
        rules.isChangeConfirmed = request.isChangeConfirmed || handover?.isConfirmed == true
        rules.deadline = request.deadline
        let schedule = request.resources.schedule
        rules.stop = schedule.stopWhen
        rules.pilot = schedule.pilot
        (rules.needsApproval, rules.waitsForApproval) = (schedule.approve, !schedule.noWait)
        rules.order = schedule.order
        rules.onFull = schedule.onFull
        rules.watch = request.watch
        rules.referenceRanges = try request.resources.attachments.referenceRanges()
        rules.hours = schedule.hours
        rules.stall = schedule.stallPolicy { reason in
            // By the exit code the supervisor knows the reason, and starts another engine.
            Terminal.printUrgently(reason)
            EngineHandover.exit(EngineEnd.stalledCode)
        }
        return rules
    }

    private func end(_ outcome: BatchOutcome, _ code: NocturneExit, after duration: Duration) throws {
        let show = request.show
        // With --quiet nothing else states why nothing was completed.
        if !show.json && (!show.quiet || code == .nothingMatched) {
            Terminal.printMessage(
                SummaryText.summary(
                    outcome.counts,
                    output: request.output,
                    // After a crash, this process does not know when the run began.
                    seconds: handover?.previousEnd == nil ? duration.inSeconds : nil,
                    remarks: outcome.remarks
                )
            )
            if [.interrupted, .terminated, .stoppedEarly, .cannotContinue].contains(code) {
                Terminal.printMessage("Continue with: \(request.output.continuation)")
            }
        } else if let remarks = outcome.remarks {
            // No event has it.
            for text in [SummaryText.missingOutputs(remarks), remarks.nothingComparedText].compactMap(\.self) {
                Terminal.printMessage("\(text). Report: \(request.output.report)")
            }
        }
        if let error = unwrittenEvents(code) { throw error }
        // Last, after all that is printed: the error ends the process with this code.
        if code != .allCompleted { throw code }
    }
}

extension EngineProcess {
    /// The error of events that could not be written to standard output, which counts as for every command. A run that was stopped keeps
    /// the code by which it is continued.
    private func unwrittenEvents(_ code: NocturneExit) -> FileSystemError? {
        guard request.show.json, [.allCompleted, .someFailed, .nothingMatched].contains(code) else { return nil }
        return LineWriter.standardOutputFault.map { FileSystemError(.write, path: "standard output", code: $0) }
    }
}

/// Runs its body at most once, even if called from several threads.
final class Once: Sendable {
    private let isDone = Atomic(false)
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func callAsFunction() {
        if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
    }
}
