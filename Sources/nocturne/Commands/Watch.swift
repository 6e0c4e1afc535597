import ArgumentParser
import NocturneBatch
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Watch: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Process the inputs, then new files in the input folders, until stopped.",
        discussion: """
            An item is started once none of its files has changed for a while, and repeated when they change later. \
            The output folder holds the same batch and journal as with run: status, cancel and resume work on it.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var profile: ProfileArguments
    @OptionGroup var show: OutputArguments
    @OptionGroup var consentArguments: ConsentArguments

    @Option(name: [.short, .long], help: "The folder for the results.", completion: .directory)
    var output: String

    @Option(
        help: "Seconds without a change after which files count as complete. Default: 60.",
        transform: SettlingTime.parse
    )
    var settle = SettlingTime.minute

    @Option(help: "Stop watching once this file exists. Default: the file stop in the output folder.")
    var stopFile: String?

    @Flag(help: "Continue the batch with different options; results that they affect are made again.")
    var overwrite = false

    func validate() throws {
        if output.isEmpty { throw ValidationError("--output is empty: name a folder.") }
    }

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var keepsInput: Bool { batch.list == "-" }

    /// What can be read once, such as a list from a pipe, is left to the engine.
    var consent: ChangeConsent? {
        guard batch.list.map({ FileSystem.kind($0) == .file }) ?? true else { return nil }
        return ChangeConsent(isGiven: overwrite || consentArguments.yes, mayAsk: !consentArguments.yes)
    }

    func check() throws { try batch.check() }

    func description() async throws -> BatchDescription {
        if let started = try await ExistingBatch.startedByThisRun(folder) { return started }
        return try batch.description(version: Nocturne.version) { text in
            if !ChangePreview.isThisProcess { Terminal.printMessage(text) }
        }
    }

    func run() async throws {
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await description(),
                resources: resources,
                show: show,
                overwrite: overwrite || consentArguments.yes,
                watch: FolderWatcher(
                    quietSeconds: settle.seconds,
                    stopFile: stopFile.map(absolutePath) ?? folder.path + "/stop",
                    takesStopFile: stopFile == nil
                )
            )
        )
    }
}
