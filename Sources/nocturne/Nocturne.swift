import ArgumentParser
import Foundation
import NocturneBatch
import NocturneInference
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

/// The command line: parsing and printing only.
@main
struct Nocturne: AsyncParsableCommand {
    static let version = "0.2.0"
    /// The system clocks; no other code of the executable names them.
    static let time: any TimeSource = SystemTime()

    /// The command line with what a profile and the environment add to it, or why that cannot be done.
    private static let commandLine = Result { try ExpandedCommandLine() }
    /// The whole command line, for processes that are to do the same.
    static var arguments: [String] { (try? commandLine.get().arguments) ?? CommandLine.arguments }

    static let configuration = CommandConfiguration(
        commandName: "nocturne",
        abstract: "Run segmentation and classification models over folders of CT and MR volumes and photos, offline.",
        discussion: """
            Research software: not a medical device, not for diagnosis or treatment.

            Exit codes: 0 all completed, 1 internal error, 2 usage, 3 finished but some items failed, \
            4 nothing matched, 75 stopped early and safe to resume, 130 and 143 cancelled by a signal.
            """,
        version: version,
        subcommands: [
            Run.self, Watch.self, Plan.self, Resume.self, Status.self, Prom.self, Trace.self, Attach.self, Cancel.self,
            Verify.self, Retry.self, Submit.self, Merge.self, Review.self, Enrich.self, Adopt.self, Forget.self,
            Compare.self, History.self, Inspect.self,
            Doctor.self,
            Models.self,
        ]
    )

    /// Runs on the main thread until the engine starts, so that a supervisor needs no other thread.
    @MainActor
    static func main() async {
        RunSupervision.setProcessName("nocturne")
        RunSupervision.protectMemory()
        // A closed pipe (such as into head) makes the write fail; the signal would end the process.
        signal(SIGPIPE, SIG_IGN)
        // First, since the supervisor forwards requests as soon as the engine process exists.
        if ProcessHandover.toEngine != nil { SignalListener.keep([SIGUSR1, SIGUSR2]) }
        do {
            let command = try parseAsRoot(try commandLine.get().parsed)
            if let command = command as? any EngineCommand, ChangePreview.isThisProcess {
                Foundation.exit(await command.previewChanges())
            }
            if let command = command as? any EngineCommand, command.needsEngine, ProcessHandover.toEngine == nil {
                try command.startEngine()
            } else {
                try await run(command)
            }
        } catch let code as NocturneExit {
            Foundation.exit(code.rawValue)
        } catch let error as BatchError {
            Terminal.printError("\(error)")
            Foundation.exit(NocturneExit(error).rawValue)
        } catch {
            let code = exitCode(for: error)
            if code == .success || code == .validationFailure {
                let message = described(error)
                if code == .success { print(message) } else { Terminal.printError(message, prefix: "") }
                Foundation.exit(code == .success ? 0 : NocturneExit.usage.rawValue)
            }
            Terminal.printError("\(error)")
            Foundation.exit(NocturneExit.internalError.rawValue)
        }
    }

    /// Without a command.
    func run() throws {
        let models = LoadedModels.catalog.entries().compactMap { try? $0.package.get().id }
        let batches = PathCompletion.batchFolders("")
        Terminal.printResult(FirstSteps(version: Self.version, models: models, batches: batches).text)
    }

    /// What may have been meant where the first word is no command; empty otherwise.
    private static func suggestion() -> String {
        guard let word = CommandLine.arguments.dropFirst().first, !word.hasPrefix("-") else { return "" }
        let names = configuration.subcommands.map { $0._commandName }
        guard !names.contains(word), let name = Spelling.nearest(to: word, among: names) else { return "" }
        return "\nDid you mean 'nocturne \(name)'?"
    }

    /// What is printed about an error in the command line.
    private static func described(_ error: any Error) -> String {
        let message = fullMessage(for: error)
        let origins = (try? commandLine.get().origins(in: message)) ?? []
        return ([message + suggestion()] + origins).joined(separator: "\n")
    }

    private static func run(_ command: sending any ParsableCommand) async throws {
        var command = command
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }
}
