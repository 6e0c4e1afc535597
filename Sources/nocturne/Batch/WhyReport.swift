import Foundation
import NocturneBatch
import NocturneCluster
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// What `why` prints about the items that a name or path stands for.
struct WhyReport: Encodable {
    let disclaimer = Disclaimer.text
    /// Several where several models process an input.
    let items: [Item]
    /// Why there is no item; null where there is one.
    @Nullable var absence: String? = nil

    /// In JSON, the members of both in one object.
    struct Item: Encodable {
        let outcome: ItemOutcome
        let explanation: Explanation

        func encode(to encoder: any Encoder) throws {
            try outcome.encode(to: encoder)
            try explanation.encode(to: encoder)
        }
    }

    struct Explanation: Encodable {
        let source: String
        /// What a run does with it now, or waits for; null where no run is active or it has ended.
        @Nullable var now: String?
        /// Source files that are not as they were when the item was found, or gone.
        let changedSources: [String]
        /// The latest events about it, oldest first.
        let events: [Event]
        /// Of its result; empty without one.
        let notes: [String]
        /// How its result was made; null without one.
        @Nullable var result: Result?
        /// What the next run does about it.
        let next: String
    }

    struct Event: Encodable {
        let time: String
        let event: BatchEvent.Kind
        @Nullable var reason: String?
    }

    /// From `run.json`.
    struct Result: Codable {
        let finishedAt: String
        let host: String
        let version: String
        let threads: Int
        let predictedItemPeakBytes: Int
        /// By stage.
        let seconds: [String: Double]
    }

    // MARK: Reading

    private static let mostEvents = 20

    /// - Parameter text: the name of an item, or the path of an input, also of one file among several.
    /// - Throws: `BatchError` for a folder without a batch; `JournalError`.
    static func read(_ folder: OutputFolder, _ text: String) async throws -> WhyReport {
        let description = try await ExistingBatch.description(of: folder)
        let divided = try await DividedBatch.read(folder)
        let all = try await ExistingBatch.contents(of: folder, divided).items
        let path = absolutePath(text)
        // A file of a series: the item has the path of the folder.
        // Candidates only: whether the file belongs to the item is known from its sources.
        let candidates = all.filter { $0.name == text || $0.path == path || path.hasPrefix($0.path + "/") }
        let (sources, pause) = try await folder.reading {
            (try await $0.discovered(candidates.map(\.id)), try await $0.value(of: .pause))
        }
        let found = candidates.filter { item in
            item.name == text || item.path == path || sources[item.id]?.inputs.contains { $0.path == path } == true
        }
        guard !found.isEmpty else {
            return WhyReport(items: [], absence: absence(of: text, at: path, description, among: all))
        }
        let lock = BatchLock.state(of: folder)
        let progress = folder.runProgress(of: lock.holder)
        let events = try events(in: folder, of: Set(found.map(\.name)))
        return WhyReport(
            items: found.map { item in
                // Shards have their own journals.
                let inputs = divided == nil ? sources[item.id]?.inputs ?? [] : []
                let changed = inputs.filter { !$0.holds }.map(\.path)
                // The folder of a series may be there without its files. Not every item has its files in the journal.
                let hasFile = inputs.isEmpty || inputs.contains { FileSystem.exists($0.path) }
                let isThere = hasFile && FileSystem.exists(item.path)
                let state = !isThere ? SourceState.gone : changed.isEmpty ? .same : .changed
                let explanation = Explanation(
                    source: item.path,
                    now: now(item, lock.isHeld, waitingFor: lock.holder?.waitingFor, progress),
                    changedSources: changed,
                    events: events[item.name] ?? [],
                    notes: resultFile("result.json", as: Notes.self, of: item, in: folder)?.notes ?? [],
                    result: resultFile("run.json", as: Result.self, of: item, in: folder),
                    next: next(item, state, isActive: lock.isHeld, pause, in: folder)
                )
                return Item(outcome: ItemOutcome(item, in: folder), explanation: explanation)
            }
        )
    }

    private static func events(in folder: OutputFolder, of names: Set<String>) throws -> [String: [Event]] {
        guard var lines = try? LineReader(folder.events) else { return [:] }
        var events: [String: [Event]] = [:]
        // One pass over the events, which may have millions of lines; memory for the events of the items that were found.
        while let line = try lines.next() {
            guard let event = try? JSONDecoder().decode(BatchEvent.self, from: Data(line)), let item = event.item,
                names.contains(item)
            else { continue }
            // The latest ones are kept.
            var own = events[item, default: []].suffix(mostEvents - 1)
            own.append(Event(time: event.time, event: event.event, reason: event.reason))
            events[item] = Array(own)
        }
        return events
    }

    /// What `result.json` of every kind has.
    private struct Notes: Decodable { let notes: [String] }

    /// A JSON file of a result; nil without one.
    private static func resultFile<Content: Decodable>(
        _ name: String,
        as type: Content.Type,
        of item: JournalItem,
        in folder: OutputFolder
    ) -> Content? {
        guard item.state == .completed, let bytes = try? FileSystem.read(folder.item(item.name) + "/" + name)
        else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }

    // MARK: Explaining

    /// The source files of an item, compared with what the batch has recorded of them.
    enum SourceState { case same, changed, gone }

    /// - Parameter waitingFor: what the run as a whole waits for.
    static func now(_ item: JournalItem, _ isActive: Bool, waitingFor: String?, _ progress: RunProgress?) -> String? {
        guard isActive, [.pending, .started].contains(item.state) else { return nil }
        if let own = progress?.items.first(where: { $0.item == item.name }) {
            let since = Int(own.stageSeconds)
            let stage = own.isWaiting ? "waiting for stage \(own.stage.rawValue)" : "stage \(own.stage.rawValue)"
            return "\(stage) for \(since) s, \(Int(100 * own.share)) % done, started \(Int(own.elapsedSeconds)) s ago"
        }
        if let waitingFor { return "the run waits for \(waitingFor)" }
        guard let progress else { return "the run has just begun" }
        return
            "it waits for its turn with \(counted(max(progress.queued - 1, 0), "other")); being processed: \(progress.items.count)"
    }

    /// - Parameters:
    ///   - source: how its source files are now.
    ///   - isActive: whether a run works on the batch.
    ///   - pause: the present one, or that of the next run.
    static func next(
        _ item: JournalItem,
        _ source: SourceState,
        isActive: Bool,
        _ pause: RunPause?,
        in folder: OutputFolder
    ) -> String {
        switch item.state {
        case .completed where source == .gone: "nothing: its source no longer exists, and the result stays"
        case .completed where isActive && source == .changed, .failed where isActive && source == .changed,
            .skipped where isActive && source == .changed:
            "if the active run is a watch, it processes it again once its source files stop changing; after another run, "
                + "`\(folder.retrial)` does"
        case .completed where source == .changed:
            "`\(folder.retrial)` makes the result again, since a source file has changed"
        case .completed: "nothing: the result is there, and its source files are as they were"
        case .pending where pause?.awaitsApproval == true:
            "a run processes it once the pilot is approved: look at \(folder.page), then `nocturne approve \(folder.argument)`"
        case .pending where isActive, .started where isActive: "nothing: the run that is active processes it"
        // Its name is shown with the numbers of bytes, by which the file is not found.
        case _ where item.reason?.code == .unusableName:
            "rename the file or folder, then `\(folder.retrial)` processes it"
        case _ where source == .gone:
            "nothing until its source exists again; `nocturne forget \(folder.argument) \(ShellWord.quoted(item.name))` removes it"
        case .pending, .started: "`\(folder.continuation)` processes it"
        case .failed where source == .changed, .skipped where source == .changed:
            "`\(folder.retrial)` tries it again, since a source file has changed"
        case .failed, .cancelled, .quarantined:
            "`\(folder.continuation)` leaves it as it is; `\(folder.retrial) --failed` tries it again"
        case .skipped where item.reason?.code == .expired:
            "nothing: its result is older than those that the watch keeps"
        case .skipped where item.reason?.code == .vanished:
            "nothing until it is found again: its input and its model have to be given, as before"
        case .skipped: "nothing: it is not an input for the models of this batch"
        }
    }

    /// Why no item has a name or path.
    static func absence(
        of text: String,
        at path: String,
        _ description: BatchDescription,
        among items: [JournalItem]
    ) -> String {
        guard FileSystem.exists(path) else {
            let similar = items.map(\.name).filter { $0.localizedCaseInsensitiveContains(text) }.prefix(5)
            let hint =
                similar.isEmpty
                ? "Check the spelling; `nocturne inspect` lists the files in a folder"
                : "Items with such a name: \(similar.joined(separator: ", "))"
            return "no item is called \(text), and there is no such file. " + hint
        }
        let inputs = description.inputs.map(absolutePath)
        guard let root = inputs.first(where: { path == $0 || path.hasPrefix($0 + "/") }) else {
            return "\(path) is not below the inputs of the batch: \(inputs.joined(separator: ", "))"
        }
        let inside = items.filter { $0.path.hasPrefix(path + "/") }
        if let first = inside.first {
            return "\(path) is a folder of the inputs, with \(counted(inside.count, "item")). "
                + "Give the name of an item, such as \(first.name), or the path of a file"
        }
        let name = path == root ? (path as NSString).lastPathComponent : String(path.dropFirst(root.count + 1))
        if !DiscoveryRequest(description).admits(FoundFile(path: path, name: name, root: root)) {
            let patterns = (description.include + description.exclude).joined(separator: ", ")
            return "\(path) is left out by --include or --exclude (\(patterns))"
        }
        return
            "no item of the last run has \(path) among its files: it came later, was removed by `nocturne forget`, was set "
            + "aside as a part or duplicate of another input, or is not what a model reads. `nocturne inspect \(path)` shows what it is, and "
            + "`nocturne resume --dry-run` what the next run does"
    }

    // MARK: Text

    var text: String { absence ?? items.map(\.text).joined(separator: "\n\n") }
}

extension WhyReport.Item {
    fileprivate var text: String {
        var lines = ["\(outcome.item): \(outcome.state.rawValue)"]
        func add(_ title: String, _ text: String?) { if let text { lines.append("  \(title): \(text)") } }
        add("source", explanation.source)
        add("model", outcome.model)
        add(
            "reason",
            outcome.reason.map { text in
                [outcome.stage, text].compactMap(\.self).joined(separator: ": ") + " (\(outcome.code ?? ""))"
            }
        )
        add("advice", outcome.remedy)
        for note in explanation.notes { add("note", note) }
        add("now", explanation.now)
        if let first = explanation.changedSources.first {
            let others = explanation.changedSources.count - 1
            let title = FileSystem.exists(first) ? "changed" : "missing"
            add(title, others == 0 ? first : "\(first) and \(counted(others, "other"))")
        }
        if let result = explanation.result {
            let order = ["load", "prepare", "infer", "finish", "render", "write"]
            // In the order of processing; unknown stages last.
            let stages = result.seconds.sorted { order.firstIndex(of: $0.key) ?? 9 < order.firstIndex(of: $1.key) ?? 9 }
                .map { "\($0.key) \($0.value)" }
            add(
                "result",
                "of version \(result.version), \(result.finishedAt), on \(result.host) with \(counted(result.threads, "thread"))"
            )
            add("seconds", stages.joined(separator: ", "))
            add("memory", "\(ByteCount(result.predictedItemPeakBytes)) predicted for the item")
        }
        for event in explanation.events {
            add(event.time, event.event.rawValue + (event.reason.map { ": \($0)" } ?? ""))
        }
        add("next", explanation.next)
        return lines.joined(separator: "\n")
    }
}
