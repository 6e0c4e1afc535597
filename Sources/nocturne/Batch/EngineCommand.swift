import ArgumentParser
import Foundation
import NocturneOutput
import NocturneSupervisor

/// A command that processes a batch in a child process, the engine.
///
/// The first process calls ``startEngine()``, the engine `run()`.
protocol EngineCommand: AsyncParsableCommand {
    /// Whether it processes a batch.
    var needsEngine: Bool { get }
    /// The output folder of the batch.
    var folder: OutputFolder { get }
    /// Options that change no result.
    var resources: ResourceArguments { get }
    /// What is printed.
    var show: OutputArguments { get }
    /// How the command continues a batch with changed options; nil for one that takes none.
    var consent: ChangeConsent? { get }
    /// Which items are tried again.
    var retries: RetrySelection { get }
    /// What the batch is described by in this run.
    func description() async throws -> BatchDescription
    /// Whether an input does not exist, which the engine of a new batch refuses.
    var lacksInput: Bool { get }
    /// Whether the engine reads standard input.
    var keepsInput: Bool { get }
    /// The exit code for that of the engine.
    func exitCode(after code: NocturneExit) -> NocturneExit
    /// Called once the last engine has ended by itself, before the process ends.
    func engineEnded(with code: NocturneExit)
    /// Reports errors that can be detected before an engine is started.
    func check() throws
}

extension EngineCommand {
    // What most commands have; the others declare their member.
    var needsEngine: Bool { true }
    var keepsInput: Bool { false }
    var lacksInput: Bool { false }
    var consent: ChangeConsent? { nil }
    var retries: RetrySelection { .none }
    func description() async throws -> BatchDescription { try await ExistingBatch.continued(folder) }

    func exitCode(after code: NocturneExit) -> NocturneExit {
        [.unsuitableMachine, .tripped, .cannotContinue].contains(code) ? .stoppedEarly : code
    }
    func engineEnded(with code: NocturneExit) {}

    /// Processes the batch in an engine. Returns when all items completed, or once a detached run has started.
    /// - Throws: ``NocturneExit`` for all other outcomes, also when the user does not want to continue; the errors of
    ///   ``check()``; `ValidationError` if a detached process would have to read standard input; `BatchError` when the
    ///   engine cannot be started.
    func startEngine() throws {
        try check()
        // Here, since an engine with far too little waits for threads before it can look.
        try EngineProcess.checkLimits(threads: resources.machine.width)
        let isConfirmed = try confirmChanges()
        // An engine in the foreground shows here that an input does not exist, and leaves no folder.
        if resources.schedule.detach, folder.holdsBatch || !lacksInput { return try detach(isConfirmed: isConfirmed) }
        let end = RunSupervision.run(
            on: folder,
            arguments: Program.arguments,
            keepsInput: keepsInput,
            isConfirmed: isConfirmed,
            time: Program.time,
            show: Terminal.printUrgently
        )
        switch end {
        case .engineExited(let code):
            // An exit code of another program, or of a fault that ended the process in an unexpected way.
            guard let known = NocturneExit(rawValue: code) else {
                Terminal.printUrgently("the engine exited with the unexpected code \(code)")
                throw NocturneExit.internalError
            }
            engineEnded(with: known)
            let code = exitCode(after: known)
            if code != .allCompleted { throw code }
        case .stopped(let signal):
            engineEnded(with: NocturneExit(stoppedBy: signal))
            throw NocturneExit(stoppedBy: signal)
        case .engineHangs:
            Terminal.printUrgently("once it has ended, continue with: \(folder.continuation)")
            // The engine keeps the output folder locked until it ends, so a scheduler has to try again later.
            engineEnded(with: .cannotContinue)
            throw exitCode(after: .cannotContinue)
        case .failed: throw NocturneExit.internalError
        }
    }

    /// Processes the batch in this process, the engine.
    /// - Parameter change: sets what only this command asks for.
    /// - Throws: ``NocturneExit`` unless all items completed; the errors of ``description()``.
    func processBatch(_ change: (inout EngineProcess.Request) -> Void = { _ in }) async throws {
        var request = EngineProcess.Request(
            output: folder,
            description: try await description(),
            resources: resources,
            show: show,
            retries: retries
        )
        change(&request)
        try await EngineProcess.run(request)
    }

    private func detach(isConfirmed: Bool) throws {
        // A detached process has no terminal, and the pipe may end with this process.
        guard !keepsInput else {
            throw ValidationError("--detach cannot read standard input: give --list a file")
        }
        switch try Detachment.start(folder, Program.arguments, isConfirmed: isConfirmed) {
        case .started(let process, let log):
            Terminal.printMessage(
                "Process \(process) runs the batch; output goes to \(log); follow it with "
                    + "`nocturne status --follow \(folder.argument)`"
            )
        case .ended(let code, let text):
            Terminal.printMessage(text.trimmingCharacters(in: .whitespacesAndNewlines))
            // A process that a signal ended has no exit code.
            let code = code.flatMap(NocturneExit.init(rawValue:)) ?? .internalError
            if code != .allCompleted { throw code }
        }
    }
}
