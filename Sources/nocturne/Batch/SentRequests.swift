import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneSupervisor
import NocturneSystem

/// A request to the run that is active on a batch, or to those that are active on its shards.
struct SentRequests {
    let folder: OutputFolder
    let action: ControlRequest.Action
    /// What the run is asked to do, as in "stop".
    let what: String

    /// Sends it and prints to whom.
    /// - Parameter advice: printed after the sentence about a whole batch.
    /// - Throws: `BatchError` for a folder without a batch or an active run; `FileSystemError`; `JournalError`.
    func sendAndPrint(advice: String = "") async throws {
        guard let divided = try await DividedBatch.read(folder) else {
            let text = try send(to: folder)
            return try Terminal.printResult(advice.isEmpty ? text : text + " " + advice)
        }
        let running = divided.shards.filter { $0.state == .running }.map(\.plan.number)
        guard !running.isEmpty else {
            let detail = "no run is active on a shard of this batch. Its state: `nocturne status \(folder.argument)`"
            throw BatchError(.notABatch, path: folder.path, detail: detail)
        }
        // A shard ignores items that it does not have.
        // Sent to all of them, since a request may concern items of any shard.
        let texts = try running.map { number in
            let text = try send(to: folder.shard(number))
            return "Shard \(number): \(text)"
        }
        for text in texts { try Terminal.printResult(text) }
    }

    private func send(to folder: OutputFolder) throws -> String {
        let holder = BatchLock.state(of: folder).holder
        let process = holder.map { "Process \($0.process.process)" } ?? "The run"
        // Two ways: a signal to a process of this machine, else the file alone, which the run looks for.
        if try ControlRequest.send(action, to: folder) { return "\(process) was asked to \(what)." }
        let host = holder?.process.host.map { " on \($0)" } ?? ""
        let seconds = Int(ControlRequestListener.interval.inSeconds)
        return "\(process)\(host) will find the request to \(what) within about \(seconds) s."
    }

    /// Items that are processed or wait for it, also of a batch that is divided.
    /// - Throws: `BatchError` when no item has one of the names, or it has ended; `JournalError`.
    static func check(areOpen names: [String], of folder: OutputFolder) async throws {
        guard !names.isEmpty else { return }
        let all = try await ExistingBatch.contents(of: folder, DividedBatch.read(folder)).items
        let known = all.named(Set(names))
        for name in names where known[name] == nil {
            throw BatchError(noItem: name, in: folder.path, among: all.map(\.name))
        }
        for name in names {
            guard let state = known[name]?.state, ![.pending, .started].contains(state) else { continue }
            let again = "; `\(folder.continuation) --failed` tries it again"
            let advice = [.completed, .skipped].contains(state) ? "" : again
            let detail = "\(name) is \(state.rawValue) and waits for nothing\(advice)"
            throw BatchError(.unknownItem, path: folder.path, detail: detail)
        }
    }
}
