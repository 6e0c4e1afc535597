import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneSupervisor
import NocturneSystem

struct Retry: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try failed, cancelled and quarantined items again, and finish the rest of the batch."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Option(help: "Instead of failed items, process completed ones with this verdict of a reviewer again.")
    var reviewed: ReviewVerdict?

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    func check() throws { try ExistingBatch.check(folder) }

    func run() async throws {
        // A restart of the engine continues what the first one began.
        if let reviewed, ProcessHandover.toEngine?.previousEnd == nil {
            let count = try await ReviewedItems(in: folder, marked: reviewed).processAgain(Nocturne.time)
            Terminal.printMessage("\(count) items with the verdict \(reviewed.rawValue) are processed again.")
        }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await ExistingBatch.continued(folder),
                resources: resources,
                show: show,
                retryFailed: reviewed == nil
            )
        )
    }
}
