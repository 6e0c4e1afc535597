import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem

extension Resume {
    /// Divides what is to be processed into new shards: items that wait, and those that are tried again.
    func divide() async throws {
        // A batch that is divided is merged first.
        try await folder.checkIsWhole()
        let items = try await divisibleItems()
        let description = try await unchangedDescription()
        let ranges = try resources.attachments.referenceRanges()
        let batch = try await PlannedBatch.read(folder)
        // Shards make all results themselves.
        try await batch.journal.remove(.reusedBatches)
        // The inputs are searched again, as without shards: files may have been repaired since.
        let report = try await PlanReport(
            description,
            resources.machine.limits,
            existing: PlanReport.Existing(batch, retries: retries),
            dividesCores: resources.machine.threads == nil
        )
        if let ranges { try await report.items.journal.set(.referenceRanges, to: ranges) }
        let wanted = Set(items.map(\.key))
        // The engine crashed twice on these, most often for memory.
        let crashed = Set(items.filter { $0.reason?.code == .engineCrashed }.map(\.key))
        // A result that is there and was not recorded is recorded by the shard.
        let isDivided = { (item: PlanReport.Item) in
            item.state.isWork || item.state == .completed && wanted.contains(item.key)
        }
        let divisible = try report.chooseDivisible(where: isDivided, needsMore: crashed.contains)
        let leftOut = try leftOut(items, of: report, isDivided)
        let remark = Self.text(leftOut)
        guard divisible.items > 0 else {
            throw BatchError(.nothingMatched, path: folder.path, detail: "nothing was divided: \(remark)")
        }
        let plan = try await Division(folder, description, threads: report.threads)
            .again(in: report.items.journal, count: sharding.count(for: divisible))
        try Terminal.printResult(Plan.text(plan, folder, cores: resources.machine.width))
        if !leftOut.isEmpty { Terminal.printMessage(remark) }
    }

    /// Which of the items get no place in a shard, and why.
    private func leftOut(
        _ items: [JournalItem],
        of report: PlanReport,
        _ isDivided: (PlanReport.Item) -> Bool
    ) throws -> [String] {
        var absent = Dictionary(items.map { ($0.key, $0.name) }) { first, _ in first }
        var leftOut: [String] = []
        try report.items.forEach { item in
            guard absent.removeValue(forKey: item.key) != nil, !isDivided(item) else { return }
            leftOut.append("\(item.item) (\(item.problem ?? item.state.rawValue))")
        }
        return leftOut + absent.values.sorted().map { "\($0) (now part of another item, or removed)" }
    }

    private static func text(_ leftOut: [String]) -> String {
        "\(counted(leftOut.count, "item")) in no shard: \(listed(leftOut, most: 5))"
    }

    /// The items that wait, and those that `--failed` or `--code` selects, in the order of the journal.
    /// - Throws: `BatchError` where there is none; `JournalError`.
    private func divisibleItems() async throws -> [JournalItem] {
        let items = try await folder.reading { [retries] journal in
            var items: [JournalItem] = []
            for state in [ItemState.pending, .started] { items += try await journal.items(in: state) }
            for state in [ItemState.failed, .cancelled, .quarantined] {
                items += try await journal.items(in: state).filter(retries.contains)
            }
            // Completed and skipped items stay in the journal of the batch.
            return items.sorted { $0.id < $1.id }
        }
        guard items.isEmpty else { return items }
        // Without --failed a batch may only have items that failed, and the user expects them to be divided.
        let advice = retries == .none ? "; --failed also divides items that failed" : ""
        throw BatchError(.notAShard, path: folder.path, detail: "no item waits, so nothing was divided\(advice)")
    }

    /// The batch's description, which all shards take as it is.
    private func unchangedDescription() async throws -> BatchDescription {
        let description = try await ExistingBatch.continued(folder)
        // Shards that have ended keep their results, which other options would have made differently.
        guard try changes.applied(to: description) == description else {
            throw ValidationError("A batch cannot be divided with changed options; leave out --shards, or the options.")
        }
        if let isa = sharding.isa, isa != description.instructionSet {
            throw ValidationError(
                "The batch uses \(description.instructionSet ?? "its own instruction set"); leave out --isa."
            )
        }
        return description
    }
}
