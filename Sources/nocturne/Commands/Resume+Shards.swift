import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneSystem

extension Resume {
    /// Divides what is to be processed into new shards: items that wait, and those that are tried again.
    func divide() async throws {
        // A batch that is divided is merged first.
        try await folder.checkIsWhole()
        let items = try await divisibleItems()
        let description = try await unchangedDescription()
        let wanted = Set(items.map(\.key))
        let report = try await PlanReport(
            description,
            resources.machine.limits,
            dividesCores: resources.machine.threads == nil
        ) { [folder] recipes, found in
            // The items are those of the journal; the inputs are not searched again.
            try await folder.reading { journal in
                try await found.fill(recipes: recipes.count, flag: CancellationFlag()) { last in
                    var portion = try await journal.entries(after: last, limit: FoundTable.itemsAtOnce)
                    portion.entries.removeAll { !wanted.contains($0.item.key) || $0.item.inputs.isEmpty }
                    return portion
                }
            }
            return Discovery()
        }
        // The engine crashed twice on these, most often for memory.
        let crashed = Set(items.filter { $0.reason?.code == .engineCrashed }.map(\.key))
        let divisible = try report.divisible { crashed.contains($0) }
        // Items that wait can be missing here, such as those without a recorded source.
        guard !divisible.isEmpty else { throw NocturneExit.nothingMatched }
        let plan = try await Division(folder, description, threads: report.threads).again(
            divisible,
            in: report.items.journal,
            count: sharding.count(for: divisible.map(\.seconds))
        )
        try Terminal.printResult(Plan.text(plan, folder, cores: resources.machine.width))
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
