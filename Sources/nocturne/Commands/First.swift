import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct First: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "first",
        abstract: "Process some items before the others, in the active run or the next one.",
        discussion: """
            Active items come to their end first; with --now they are put back and continued afterwards. Results and their order in the \
            tables stay the same.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "Items, by the names of their folders, in the order of processing.")
    var items: [String]

    @Flag(
        help:
            "Put active items back at their next tile, and start nothing else until these have ended. Completed tiles are kept."
    )
    var now = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        // Checked before anything is sent, so that one mistyped name changes nothing of the order.
        try await SentRequests.check(areOpen: items, of: folder)
        let list = items.joined(separator: ", ")
        // Without a run the order is written to the journal; the lock keeps a run from beginning meanwhile.
        if try await DividedBatch.read(folder) == nil, BatchLock.state(of: folder).isFree {
            try await folder.changing { [items] in try await $0.putFirst(items) }
            return try Terminal.printResult("The next run begins with \(list): \(folder.continuation)")
        }
        // Also for a divided batch: every shard has a run and a journal, and takes its items of the list.
        let request = FirstRequest(items, now: now)
        let progress = folder.runProgress(of: BatchLock.state(of: folder).holder)
        let advice = request.text(active: Set(progress?.items.map(\.item) ?? [])) ?? ""
        let what = "process \(list) \(now ? "now" : "next")"
        try await SentRequests(folder: folder, action: .putFirst(request), what: what).sendAndPrint(advice: advice)
    }
}
