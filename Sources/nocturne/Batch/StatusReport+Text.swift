import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem

/// What `status` prints for a person.
extension StatusReport {
    /// - Parameters:
    ///   - isActive: whether a run is active, on any shard.
    ///   - listsParts: whether photos and detected objects are listed, in the order of ``parts``.
    func text(_ folder: OutputFolder, _ state: BatchLock.State, isActive: Bool, listsParts: Bool) -> String {
        var lines = shards.map { shardLines($0, folder) } ?? [run(state)]
        lines += progress?.lines ?? []
        lines += pause.map { [$0.text(folder, isActive: state.isHeld)] } ?? []
        lines += waitingFor.map { ["Waiting for \($0)."] } ?? []
        lines += failureLines
        if listsParts { lines += partLines }
        if !unusual.isEmpty {
            let shown = listed(unusual, most: 5)
            lines.append("\(counted(unusual.count, "item")) with values that are unusual in this batch: \(shown)")
        }
        if reused > 0 {
            lines.append("\(counted(reused, "result")) \(reused == 1 ? "was" : "were") taken from other batches.")
        }
        if let incomplete { lines.append("Without an output that was asked for: \(incomplete.example)") }
        if let verified { lines.append(verified.text) }
        if !verdicts.isEmpty {
            let text = verdicts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            lines.append("Marked by reviewers: \(text)")
        }
        lines += reviewed.map { "  " + $0.text }
        // Objects that wait for a text are not waiting items: the run is done with them, and a person goes on.
        let waiting = parts.count { $0.state == ItemPart.State.enriching.rawValue }
        if waiting > 0 {
            let texts = RecipeRegistry.all.objectTexts.joined(separator: " and ")
            lines.append(
                "\(counted(waiting, "object")) \(waiting == 1 ? "waits" : "wait") for \(texts): nocturne review titles"
            )
        }
        lines.append(SummaryText.summary(counts, output: folder, seconds: nil, isRunning: isActive))
        return lines.joined(separator: "\n")
    }

    /// One line with the number of shards in each state, and one for each shard that someone may want to look at.
    private func shardLines(_ shards: [Shard], _ folder: OutputFolder) -> [String] {
        // Fixed, so that the line has the same order each time it is printed.
        let states: [(DividedBatch.Shard.State, String)] = [
            (.finished, "finished"), (.running, "running"), (.stopped, "stopped before the end"),
            (.waiting, "not begun"), (.lost, "lost"),
        ]
        let counts = states.compactMap { state, text in
            let count = shards.filter { $0.state == state }.count
            return count == 0 ? nil : "\(count) \(text)"
        }
        var lines = ["Divided into \(counted(shards.count, "shard")): \(counts.joined(separator: ", "))."]
        let shown = shards.filter { [.running, .stopped, .lost].contains($0.state) }
        // Divisions have up to thousands of shards: --json has all of them.
        lines += shown.prefix(20).map { shard in
            let place = shard.host.map { " on \($0)" } ?? ""
            let failures = shard.failed == 0 ? "" : ", \(shard.failed) failed"
            return
                "  shard \(shard.number): \(shard.state.rawValue)\(place), \(shard.ended) of \(shard.items) items"
                + failures + (shard.progress?.remark ?? "") + shard.startsRemark
        }
        if shown.count > 20 { lines.append("  … and \(shown.count - 20) more") }
        if shards.allSatisfy({ $0.state == .finished }) { lines.append("Use: nocturne merge \(folder.argument)") }
        return lines
    }

    private func run(_ state: BatchLock.State) -> String {
        switch state {
        case .free: "No run is active."
        case .unknown(let code): "Cannot find out whether a run is active: \(errnoText(code))."
        case .held(let holder):
            (holder.map { "Process \($0.process.process) is running the batch" } ?? "A run is active")
                + (inFlight.isEmpty || progress != nil ? "." : ": \(inFlight.joined(separator: ", "))")
        }
    }

    // MARK: Items without a result

    /// The largest number of items of one kind that are listed one by one.
    private static let mostListed = 20

    /// A line for each item, and for each kind of reason a line on what can be done; the most frequent kind first.
    private var failureLines: [String] {
        let groups = Dictionary(grouping: failures) { $0.code ?? "" }
        // The most frequent reason first, then by code: a dictionary has another order in every process.
        return groups.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.flatMap { code, items in
            let head = "\(code) (\(counted(items.count, "item"))): \(items[0].remedy ?? "")"
            let shown = items.prefix(Self.mostListed).map { "  \($0.state.rawValue) \($0.item): \($0.reason ?? "")" }
            let rest = items.count - shown.count
            return [head] + shown + (rest > 0 ? ["  and \(rest) more, which --json and batch.json list"] : [])
        }
    }

    // MARK: Photos and detected objects

    /// One line for each photo, with the number of its objects in each state: the first twenty.
    ///
    /// The parts of one item follow each other.
    private var partLines: [String] {
        var items: [(name: String, parts: [Part])] = []
        for part in parts {
            if items.last?.name != part.item { items.append((part.item, [])) }
            items[items.count - 1].parts.append(part)
        }
        let lines = items.prefix(Self.mostListed).map { "  \($0.name): \(Self.text(of: $0.parts))" }
        return lines
            + (items.count > Self.mostListed
                ? ["  … and \(items.count - Self.mostListed) more, all of them with --json"] : [])
    }

    private static func text(of parts: [Part]) -> String {
        // Why one has failed is listed with the failures.
        // A photo without objects, or whose objects are not known yet, is a single row without an id.
        guard parts[0].id != nil else { return parts[0].state }
        let objects = counted(parts.count, "object")
        let states = Dictionary(grouping: parts, by: \.state).sorted { $0.key < $1.key }
        guard states.count > 1 else { return "\(objects) \(states[0].key)" }
        return "\(objects): " + states.map { "\($0.value.count) \($0.key)" }.joined(separator: ", ")
    }
}

extension StatusReport.Verified {
    init(_ parts: VerifiedParts) {
        self.init(parts: parts.count, missing: parts.missing, oldest: parts.oldest)
    }

    var text: String {
        if let oldest {
            return parts == 1 ? "Verified at \(oldest)." : "All \(parts) parts are verified, the oldest at \(oldest)."
        }
        let shown = listed(missing.map(String.init), most: 10)
        return "\(parts - missing.count) of \(parts) parts are verified; not yet: \(shown)"
    }
}

extension StatusReport.PauseState {
    /// - Returns: nil for one that is over.
    init?(_ pause: RunPause) {
        if pause.isOver(at: Program.time.wallClock) { return nil }
        self.init(
            since: WallTime(seconds: pause.since).timestamp,
            until: pause.until.map { WallTime(seconds: $0).timestamp },
            releasesMemory: pause.releasesMemory,
            awaitsApproval: pause.awaitsApproval
        )
    }

    fileprivate func text(_ folder: OutputFolder, isActive: Bool) -> String {
        if awaitsApproval {
            return
                "The pilot waits for approval since \(since). Look at \(folder.page), then: nocturne approve \(folder.argument)"
        }
        let end = until.map { ", until \($0)" } ?? ""
        let what = isActive ? "Paused" : "The next run is paused"
        return "\(what) since \(since)\(end). Continue with: nocturne continue \(folder.argument)"
    }
}

/// What an active run does, as lines of text.
extension RunProgress {
    var lines: [String] {
        var head = "\(done) of \(total) items have ended"
        if failed > 0 { head += ", \(failed) of them failed" }
        head += "; \(queued) wait. " + Self.time(elapsedSeconds, etaSeconds)
        let rows = items.map { item in
            [
                "  " + item.item,
                "\(item.state) for \(EventText.duration(item.stageSeconds))", Self.percent(item.share),
                Self.time(item.elapsedSeconds, item.etaSeconds),
            ]
        }
        let resident = memory.residentBytes.map { "\(ByteCount($0)) of " } ?? ""
        let reserved = "\(ByteCount(memory.leasedBytes)) of it reserved for these items"
        return [head] + (items.isEmpty ? [] : [Terminal.table(rows)])
            + ["Memory: \(resident)\(ByteCount(memory.budgetBytes)), \(reserved); pressure: \(memory.pressure)."]
            + (device.map { ["GPU in the last half minute: \($0.text)."] } ?? [])
    }

    /// Behind the line of a shard.
    var remark: String {
        let active = items.prefix(2).map { item in
            "\(item.item) (\(item.state) \(Self.percent(item.share)))"
        }
        let left = etaSeconds.map { ", about \(EventText.duration($0)) left" } ?? ""
        return (active.isEmpty ? "" : ", at work on " + active.joined(separator: ", ")) + left
    }

    /// Rounded down, so that 100 % means that nothing is left.
    private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded(.down))) %" }

    private static func time(_ elapsed: Double, _ left: Double?) -> String {
        EventText.duration(elapsed) + " so far" + (left.map { ", about \(EventText.duration($0)) left" } ?? "")
    }
}
