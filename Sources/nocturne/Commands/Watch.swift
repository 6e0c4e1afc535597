import ArgumentParser
import NocturneBatch
import NocturneRecipes
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
    @OptionGroup var show: OutputArguments

    @Option(name: [.short, .long], help: "The folder for the results.")
    var output: String

    @Option(
        help: "Seconds without a change after which files count as complete. Default: 60.",
        transform: SettlingTime.parse
    )
    var settle = SettlingTime.minute

    @Option(help: "Stop watching once this file exists. Default: the file stop in the output folder.")
    var stopFile: String?

    @Flag(help: "Continue the batch with different options; items that they affect are repeated.")
    var overwrite = false

    func validate() throws {
        if output.isEmpty { throw ValidationError("--output is empty: name a folder.") }
    }

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var keepsInput: Bool { batch.list == "-" }

    func check() throws { try batch.check() }

    func run() async throws {
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.startedByThisRun(folder)
                    ?? batch.description(version: Nocturne.version, say: Terminal.printMessage),
                resources: resources,
                show: show,
                overwrite: overwrite,
                watch: FolderWatcher(
                    quietSeconds: settle.seconds,
                    stopFile: stopFile.map(absolutePath) ?? folder.path + "/stop",
                    takesStopFile: stopFile == nil
                )
            )
        )
    }
}
