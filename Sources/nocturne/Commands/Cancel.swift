import ArgumentParser
import NocturneCluster
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor

struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Stop a run that was started elsewhere, or single items of it."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "Items to stop. Default: the whole run.")
    var items: [String] = []

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        // A request for an item that has ended would have no effect.
        try await SentRequests.check(areOpen: items, of: folder)
        let request = SentRequests(
            folder: folder,
            action: items.isEmpty ? .stop : .cancelItems(items),
            what: items.isEmpty ? "stop" : "stop " + items.joined(separator: ", ")
        )
        // The run continues with its other items, so there is no advice on how to continue.
        guard items.isEmpty else { return try await request.sendAndPrint() }
        try await request.sendAndPrint(advice: "Continue later with: \(folder.continuation)")
        // Only running shards get the request. Tasks in the queue have no run yet that could receive it.
        if try await DividedBatch.read(folder) != nil {
            try Terminal.printResult(
                "Tasks that wait in the queue of a cluster are cancelled there, for instance with scancel."
            )
        }
    }
}
