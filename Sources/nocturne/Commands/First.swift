import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct First: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Process some items before the others, in the active run or the next one.",
        discussion: "Active items come to their end first. Results and their order in the tables stay the same."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "Items, by the names of their folders, in the order of processing.")
    var items: [String]

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        let known = try await SentRequests.items(items, of: folder)
        for name in items {
            guard let state = known[name]?.state, ![.pending, .started].contains(state) else { continue }
            let advice = [.completed, .skipped].contains(state) ? "" : "; `nocturne retry` tries it again"
            throw BatchError(
                .unknownItem,
                path: folder.path,
                detail: "\(name) is \(state.rawValue) and waits for nothing\(advice)"
            )
        }
        let list = items.joined(separator: ", ")
        if try await DividedBatch.read(folder) == nil, case .free = BatchLock.state(of: folder) {
            let lock = try BatchLock(folder)
            defer { withExtendedLifetime(lock) {} }
            try await Journal.with(path: folder.journal) { [items] in try await $0.putFirst(items) }
            return Terminal.printResult("The next run begins with \(list): nocturne resume \(folder.path)")
        }
        try await SentRequests(folder: folder, action: .putFirst(items), what: "process \(list) next").sendAndPrint()
    }
}
