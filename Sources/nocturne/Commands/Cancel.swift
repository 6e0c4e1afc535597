import ArgumentParser
import Foundation
import NocturneBatch
import NocturneSystem

struct Cancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop a run in another terminal, or single items of it."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Argument(help: "Items to stop; none for the whole run.")
    var items: [String] = []

    func run() throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try ExistingBatch.description(of: folder)
        guard let process = BatchLock.holder(of: folder) else {
            throw BatchError(.notABatch, path: folder.path, detail: "no run is at work on this batch")
        }
        if items.isEmpty {
            kill(process, SIGINT)
            print("Process \(process) was asked to stop. Go on later with: nocturne resume \(folder.path)")
            return
        }
        let journal = try Journal(path: folder.journal)
        let known = Set(try journal.items().map(\.name))
        journal.close()
        for item in items where !known.contains(item) {
            throw BatchError(.unknownItem, path: folder.path, detail: "there is no item \(item)")
        }
        try ControlRequests.send(items, to: folder, process: process)
        print("Process \(process) was asked to stop \(items.joined(separator: ", ")).")
    }
}
