import ArgumentParser
import NocturneBatch
import NocturneRecipes
import NocturneSystem

struct Run: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Process the inputs; continue the batch if the output folder already holds it."
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    @Option(name: [.short, .long], help: "The folder for the results.")
    var output: String

    @Flag(help: "Show what would be done without processing anything.")
    var dryRun = false

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Continue the batch with different options; items that they affect are repeated.")
    var overwrite = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    var needsEngine: Bool { !dryRun }
    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var keepsInput: Bool { batch.list == "-" }

    func check() throws { try batch.check() }

    func run() async throws {
        if dryRun {
            try await Plan.show(
                try batch.description(version: Nocturne.version),
                resources: resources,
                json: show.json
            )
            return
        }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.startedByThisRun(folder)
                    ?? batch.description(version: Nocturne.version),
                resources: resources,
                show: show,
                retries: retryFailed ? .all : .none,
                overwrite: overwrite,
                failFast: failFast
            )
        )
    }
}
