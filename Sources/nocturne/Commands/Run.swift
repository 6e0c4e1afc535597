import ArgumentParser
import NocturneBatch
import NocturneSystem

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Work through the inputs; in a folder that holds this batch already, go on with it."
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    @Option(name: [.short, .long], help: "The folder for the results.")
    var output: String

    @Flag(help: "Show what would be done, and do nothing.")
    var dryRun = false

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Go on with other options than the batch was begun with; what they change is done anew.")
    var overwrite = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        // Faults of the command line are told by the parent, before a child is started.
        try resources.check()
        if dryRun {
            try await PlanReport(description: try batch.description(), resources: resources, json: show.json).print()
            return
        }
        if !Supervisor.isEngine { _ = try batch.segmentationOptions() }
        guard try Supervisor.begin(on: folder, detach: resources.detach, keepsInput: batch.list == "-") else { return }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try ExistingBatch.begunByThisRun(folder) ?? batch.description(),
                resources: resources,
                show: show,
                retryFailed: retryFailed,
                overwrite: overwrite,
                failFast: failFast
            )
        )
    }
}
