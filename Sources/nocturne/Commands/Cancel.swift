import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop a run that was started elsewhere, or single items of it."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "Items to stop. Default: the whole run.")
    var items: [String] = []

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try folder.checkHoldsBatch()
        if let divided = try await DividedBatch.read(folder) { return try await cancel(divided) }
        if !items.isEmpty {
            let known = Set(try await ExistingBatch.contents(of: folder).items.map(\.name))
            for item in items where !known.contains(item) {
                throw BatchError(.unknownItem, path: folder.path, detail: "there is no item \(item)")
            }
        }
        let holder = BatchLock.state(of: folder).holder
        let delivery = try ControlRequest.send(items.isEmpty ? .stop : .cancelItems(items), to: folder)
        Terminal.printResult(text(delivery, holder, folder))
    }

    /// Asks the runs that are active on shards, or those that have the items.
    private func cancel(_ batch: DividedBatch) async throws {
        let known = Set(try await batch.contents().items.map(\.name))
        for item in items where !known.contains(item) {
            throw BatchError(.unknownItem, path: batch.output.path, detail: "there is no item \(item)")
        }
        let running = batch.shards.filter { $0.state == .running }
        guard !running.isEmpty else {
            throw BatchError(.notABatch, path: batch.output.path, detail: "no run is active on a shard of this batch")
        }
        // A shard ignores items that it does not have.
        for shard in running {
            let folder = batch.output.shard(shard.plan.number)
            let holder = BatchLock.state(of: folder).holder
            let delivery = try ControlRequest.send(items.isEmpty ? .stop : .cancelItems(items), to: folder)
            Terminal.printResult("Shard \(shard.plan.number): \(text(delivery, holder, nil))")
        }
        if items.isEmpty {
            Terminal.printResult(
                "Tasks that wait in the queue of a cluster are cancelled there, for instance with scancel."
            )
        }
    }

    private func text(_ delivery: ControlRequest.Delivery, _ holder: BatchLock.Holder?, _ folder: OutputFolder?)
        -> String
    {
        let what = items.isEmpty ? "stop" : "stop " + items.joined(separator: ", ")
        let process = holder.map { "Process \($0.process.process)" } ?? "The run"
        var text: String
        switch delivery {
        case .signalled: text = "\(process) was asked to \(what)."
        case .left:
            let host = holder?.process.host.map { " on \($0)" } ?? ""
            let seconds = Int(ControlRequestListener.interval.inSeconds)
            text = "\(process)\(host) will find the request to \(what) within about \(seconds) s."
        }
        if items.isEmpty, let folder { text += " Continue later with: nocturne resume \(folder.path)" }
        return text
    }
}
