import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneRecipes
import NocturneSystem

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show batch status.")

    @Argument(help: "The batch's output folder.")
    var output: String

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Refresh every two seconds while a run is active.")
    var follow = false

    @Flag(help: "List the parts of items in progress first, then those that changed last: a review queue.")
    var newestFirst = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try await ExistingBatch.description(of: folder)
        while true {
            let state = BatchLock.state(of: folder)
            let divided = try await DividedBatch.read(folder)
            let contents: ExistingBatch.Contents
            if let divided {
                contents = ExistingBatch.Contents(items: divided.items, parts: divided.parts)
            } else {
                contents = try await ExistingBatch.contents(of: folder)
            }
            let isActive = state.isHeld || divided?.shards.contains { $0.state == .running } ?? false
            // While shards are open, the journal of the batch lacks what they have done.
            let review = try await ExistingBatch.review(
                of: folder,
                contents.items,
                isActive: isActive || divided != nil
            )
            var report = StatusReport(folder, state, contents, review, newestFirst: newestFirst, isActive: isActive)
            report.shards = divided?.shards.map(StatusReport.Shard.init)
            if json { try Terminal.printJSON(report) } else { Terminal.printResult(report.text(folder, state)) }
            guard follow, isActive else { return }
            try await Nocturne.time.sleep(for: .seconds(2))
        }
    }
}
