import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneSystem

struct Resume: EngineCommand {
    static let configuration = CommandConfiguration(abstract: "Continue a batch that was stopped or killed.")

    @Argument(help: "The batch's output folder.")
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    func check() throws { try ExistingBatch.check(folder) }

    func run() async throws {
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.continued(folder),
                resources: resources,
                show: show,
                retries: retryFailed ? .all : .none,
                failFast: failFast
            )
        )
    }
}
