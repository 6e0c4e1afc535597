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

    /// A request that was sent to one run, as a sentence, and the number of the shard; nil for the whole batch.
    typealias Sent = (text: String, shard: Int?)

    /// - Throws: `BatchError` for a folder without a batch or an active run; `FileSystemError`; `JournalError`.
    func send() async throws -> [Sent] {
        guard let divided = try await DividedBatch.read(folder) else { return [(try send(to: folder), nil)] }
        let running = divided.shards.filter { $0.state == .running }
        guard !running.isEmpty else {
            let detail = "no run is active on a shard of this batch. Its state: `nocturne status \(folder.argument)`"
            throw BatchError(.notABatch, path: folder.path, detail: detail)
        }
        // A shard ignores items that it does not have.
        // Sent to all of them, since a request may concern items of any shard.
        return try running.map { (try send(to: folder.shard($0.plan.number)), $0.plan.number) }
    }

    /// Sends it and prints to whom.
    /// - Parameter advice: printed after the sentence about a whole batch.
    func sendAndPrint(advice: String = "") async throws {
        for (text, shard) in try await send() {
            let whole = advice.isEmpty ? text : text + " " + advice
            try Terminal.printResult(shard.map { "Shard \($0): \(text)" } ?? whole)
        }
    }

    private func send(to folder: OutputFolder) throws -> String {
        let holder = BatchLock.state(of: folder).holder
        let process = holder.map { "Process \($0.process.process)" } ?? "The run"
        // Two ways: a signal to a process of this machine, else the file alone, which the run looks for.
        switch try ControlRequest.send(action, to: folder) {
        case .signalled: return "\(process) was asked to \(what)."
        case .left:
            let host = holder?.process.host.map { " on \($0)" } ?? ""
            let seconds = Int(ControlRequestListener.interval.inSeconds)
            return "\(process)\(host) will find the request to \(what) within about \(seconds) s."
        }
    }

    /// The items of a batch by name, also of one that is divided.
    /// - Throws: `BatchError` when there is no item of one of the names; `JournalError`.
    static func items(_ names: [String], of folder: OutputFolder) async throws -> [String: JournalItem] {
        guard !names.isEmpty else { return [:] }
        let all = try await ExistingBatch.contents(of: folder, DividedBatch.read(folder)).items
        let known = all.named(Set(names))
        for name in names where known[name] == nil {
            throw BatchError(noItem: name, in: folder.path, among: all.map(\.name))
        }
        return known
    }

    /// Items that are processed or wait for it.
    /// - Throws: `BatchError` when there is no item of one of the names, or it has ended; `JournalError`.
    static func check(areOpen names: [String], of folder: OutputFolder) async throws {
        let known = try await items(names, of: folder)
        for name in names {
            guard let state = known[name]?.state, ![.pending, .started].contains(state) else { continue }
            let again = "; `\(folder.continuation) --failed` tries it again"
            let advice = [.completed, .skipped].contains(state) ? "" : again
            let detail = "\(name) is \(state.rawValue) and waits for nothing\(advice)"
            throw BatchError(.unknownItem, path: folder.path, detail: detail)
        }
    }
}
