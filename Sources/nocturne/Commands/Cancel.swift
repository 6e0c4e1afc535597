import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneSupervisor
import NocturneSystem

struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop a run that was started elsewhere, or single items of it."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @Argument(help: "Items to stop. Default: the whole run.")
    var items: [String] = []

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        try ExistingBatch.check(folder)
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

    private func text(_ delivery: ControlRequest.Delivery, _ holder: LockHolder?, _ folder: OutputFolder) -> String {
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
        if items.isEmpty { text += " Continue later with: nocturne resume \(folder.path)" }
        return text
    }
}
