import ArgumentParser
import NocturneBatch
import NocturneSystem

struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Work through the inputs, and then through what comes to them, until it is stopped.",
        discussion: """
            An item is taken once none of its files has changed for a while, and done anew when they change later. The \
            output folder holds the same batch and journal as that of a run: status, cancel and resume work on it.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    @Option(name: [.short, .long], help: "The folder for the results.")
    var output: String

    @Option(help: "Seconds without a change after which files count as whole.")
    var settle = 60

    @Option(help: "A file that ends the watch once it is there. Default: stop in the output folder.")
    var stopFile: String?

    @Flag(help: "Go on with other options than the batch was begun with; what they change is done anew.")
    var overwrite = false

    func validate() throws {
        guard (0...86_400).contains(settle) else { throw ValidationError("--settle takes 0 to 86400 seconds") }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try resources.check()
        if !Supervisor.isEngine { _ = try batch.segmentationOptions() }
        guard try Supervisor.begin(on: folder, detach: resources.detach, keepsInput: batch.list == "-") else { return }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try ExistingBatch.begunByThisRun(folder) ?? batch.description(),
                resources: resources,
                show: show,
                overwrite: overwrite,
                watch: FolderWatcher(
                    quietSeconds: settle,
                    stopFile: stopFile.map(absolutePath) ?? folder.path + "/stop",
                    takesStopFile: stopFile == nil
                )
            )
        )
    }
}
