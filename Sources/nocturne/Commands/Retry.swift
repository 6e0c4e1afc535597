import ArgumentParser
import NocturneBatch
import NocturneSystem

struct Retry: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try failed, cancelled and quarantined items again, and finish the rest of the batch."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    func check() throws { try ExistingBatch.check(folder) }

    func run() async throws {
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.continued(folder),
                resources: resources,
                show: show,
                retryFailed: true
            )
        )
    }
}
