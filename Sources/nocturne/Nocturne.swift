import ArgumentParser
import CPosix
import Foundation
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

/// The command line: parsing and printing only.
@main
struct Nocturne: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nocturne",
        abstract: "Run segmentation and classification models over folders of CT and MR volumes and photos, offline.",
        discussion: """
            Research software: not a medical device, not for diagnosis or treatment.

            Exit codes: 0 all completed, 1 internal error, 2 usage, 3 finished but some items failed, \
            4 nothing matched, 74 a watch lost its output folder, 75 stopped early and safe to resume, 130 and 143 cancelled by a signal.
            """,
        version: Program.version,
        groupedSubcommands: [
            CommandGroup(
                name: "Run",
                subcommands: [
                    Run.self, Watch.self, Resume.self, Pause.self, Continue.self, Approve.self, First.self,
                    Cancel.self,
                ]
            ),
            CommandGroup(
                name: "Look",
                subcommands: [
                    Inspect.self, RadiomicsCommand.self, Plan.self, Status.self, Why.self, Compare.self, History.self,
                ]
            ),
            CommandGroup(name: "Review", subcommands: [Review.self]),
            CommandGroup(name: "Repair", subcommands: [Verify.self, Doctor.self, Forget.self]),
            CommandGroup(name: "Cluster", subcommands: [Submit.self, Merge.self]),
            CommandGroup(name: "Model", subcommands: [Models.self]),
        ]
    )

    /// Runs on the main thread until the engine starts, so that a supervisor needs no other thread.
    @MainActor
    static func main() async {
        // What ps shows for a process that is started by way of `/proc/self/exe`.
        cposix_set_name("nocturne")
        // No core dump is to have what the process holds in memory, such as names of patients.
        _ = cposix_disable_core_dumps()
        // A closed pipe (such as into head) makes the write fail; the signal would end the process.
        signal(SIGPIPE, SIG_IGN)
        if let text = suggestion.unknownCommand {
            Terminal.printError(text, prefix: "")
            Foundation.exit(NocturneExit.usage.rawValue)
        }
        // First, since the supervisor forwards requests as soon as the engine process exists.
        if ProcessHandover.toEngine != nil { SignalListener.keep([SIGUSR1, SIGUSR2]) }
        do {
            let command = try parseAsRoot(try Program.commandLine.get().parsed)
            // A preview is a process that the first one started; see ``ChangePreview``.
            if let command = command as? any EngineCommand, ChangePreview.isThisProcess {
                let effect = await command.previewChanges()
                Foundation.exit(effect?.rawValue ?? NocturneExit.internalError.rawValue)
            }
            // The first process supervises; the engine, which it starts with the same arguments, runs the command.
            if let command = command as? any EngineCommand, command.needsEngine, ProcessHandover.toEngine == nil {
                try command.startEngine()
            } else {
                try await run(command)
            }
        } catch let code as NocturneExit {
            Foundation.exit(code.rawValue)
        } catch let error as BatchError {
            Terminal.printError(suggestion.explained(error: "\(error)"))
            Foundation.exit(NocturneExit(error).rawValue)
        } catch {
            let code = exitCode(for: error)
            if code == .validationFailure {
                Terminal.printError(described(error), prefix: "")
                Foundation.exit(NocturneExit.usage.rawValue)
            }
            do {
                // Help, the version and scripts for shells are errors with the code of success; they go to standard output.
                guard code == .success else { throw error }
                try Terminal.printExactly(described(error) + "\n")
            } catch {
                Terminal.printError("\(error)")
                Foundation.exit(NocturneExit.internalError.rawValue)
            }
        }
    }

    /// Without a command.
    func run() throws {
        // Only what can be used here: a broken package would be a step that ends with an error.
        let models = LoadedModels.usablePackages.map(\.id)
        let batches = CompletionKind.batchFolders("")
        try Terminal.printResult(FirstSteps(version: Program.version, models: models, batches: batches).text)
    }

    /// What the words of the command line may have been meant as.
    private static var suggestion: Suggestion {
        // Commands state their names, since the name of each type takes 0.3 ms of every start.
        let commands = configuration.subcommands.compactMap { $0.configuration.commandName }
        let models = Models.configuration.subcommands.compactMap { $0.configuration.commandName }
        return Suggestion(
            Array(CommandLine.arguments.dropFirst()),
            commands: commands,
            subcommands: ["models": models]
        )
    }

    /// What is printed about an error in the command line.
    private static func described(_ error: any Error) -> String {
        // Nil where the command line itself is at fault, such as a profile that cannot be read.
        let line = try? Program.commandLine.get()
        let message = ShortHelp.$isShown.withValue(line?.asksForShortHelp == true) { fullMessage(for: error) }
        let origins = line?.origins(in: message) ?? []
        return ([suggestion.explained(message)] + origins).joined(separator: "\n")
    }

    private static func run(_ command: sending any ParsableCommand) async throws {
        var command = command
        // First: an asynchronous command also has the synchronous `run`, which only prints its help.
        if var command = command as? any AsyncParsableCommand {
            try await command.run()
        } else {
            try command.run()
        }
    }
}

/// What `nocturne` alone prints: what can be done next, here.
struct FirstSteps {
    let version: String
    /// On the search path.
    let models: [String]
    /// In the current folder.
    let batches: [String]

    var text: String {
        (["Nocturne \(version). Research software: not a medical device, not for diagnosis or treatment."] + modelLines
            + [Terminal.table(steps.map { ["  " + $0.0, $0.1] })] + batchLines
            + ["", "All commands: nocturne --help"]).joined(separator: "\n")
    }

    private var modelLines: [String] {
        guard !models.isEmpty else {
            return ["", "No model package is on the search path: set NOCTURNE_MODELS, or give --model a folder.", ""]
        }
        return ["", "Models: \(listed(models, most: 6))", ""]
    }

    /// Commands that work as they are printed, but for the words in capitals.
    private var steps: [(String, String)] {
        // With one model on the search path, --model can be left out.
        let model = models.count == 1 ? "" : " --model \(models.first ?? "FOLDER")"
        return [
            ("nocturne doctor", "check this machine"),
            ("nocturne inspect INPUTS", "see which volumes and photos a folder has"),
            ("nocturne plan INPUTS\(model)", "see items, memory and time, without processing"),
            ("nocturne run INPUTS\(model) --output OUT", "process them; the same command continues a batch"),
        ]
    }

    private var batchLines: [String] {
        guard !batches.isEmpty else { return [] }
        let more = batches.count > 5 ? ["  … and \(batches.count - 5) more"] : []
        let shown = batches.prefix(5).map { "  nocturne status \(ShellWord.quoted($0))" }
        return ["", "Batches in this folder:"] + shown + more
    }
}
