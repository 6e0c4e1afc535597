import Foundation
import NocturneConcurrency
import NocturneJournal
package import NocturneSystem

/// What the journal of a batch had at one moment: what is left to be done is decided from it, by a run and by reports alike.
package struct RecordedItems: Sendable {
    package let output: OutputFolder
    package let items: KnownItems
    /// What the batch was started with; nil where the folder holds no batch.
    package let description: BatchDescription?
    /// The ids of completed items whose results lie in their folders with every file.
    private let whole: IndexSet
    private let edits: [String: LabelEdit]
    /// Digests of the keys of items that were removed from the batch.
    private let removed: [String]

    /// Reads the journal of a run.
    /// - Parameter check: called again and again; what it throws is thrown.
    init(_ journal: Journal, _ output: OutputFolder, check: () throws -> Void = {}) async throws {
        self.output = output
        items = KnownItems(try await journal.items())
        // In the order of their ids: neighbours take no memory.
        var whole = IndexSet()
        try await journal.forEachPart { records, _ in
            for record in records where record.item.state == .completed {
                try check()
                if Self.isWhole(record.item.name, try record.files(), output) { whole.insert(Int(record.item.id)) }
            }
        }
        self.whole = whole
        edits = try await journal.edits()
        removed = try await journal.value(of: .removedItems) ?? []
        description = try await journal.value(of: .batchDescription)
    }

    private init(noneIn output: OutputFolder) {
        (self.output, items, description, whole, edits, removed) = (output, KnownItems(), nil, [], [:], [])
    }

    /// Reads a copy of the journal, so that nothing is written to the folder and no lock is taken: a run may be active.
    /// Without a batch in the folder there are no items.
    /// - Throws: ``BatchError`` for a divided batch, whose shards have their own journals; `JournalError`.
    package static func read(_ output: OutputFolder) async throws -> RecordedItems {
        guard output.holdsBatch else { return RecordedItems(noneIn: output) }
        return try await Journal.with(path: output.journal, readsCopy: { true }) { journal in
            if output.shard == nil, let plan = try await journal.value(of: .shardPlan) {
                throw BatchError.divided(output, into: plan.shards.count)
            }
            return try await RecordedItems(journal, output)
        }
    }

    private static func isWhole(_ name: String, _ files: [ItemFile], _ output: OutputFolder) -> Bool {
        !files.isEmpty && output.holdsResult(name)
            && files.allSatisfy { FileSystem.size(output.item(name) + "/" + $0.path) == $0.bytes }
    }

    /// Whether a person has edited the labels of an item, as they are now or were earlier.
    package func hasEdit(_ name: String) -> Bool { edits[name] != nil }

    /// Leaves out items that were removed from the batch.
    package func leaveOutRemoved(from discovery: inout Discovery) { discovery.leaveOut(removed: removed) }

    /// One decision for every discovered item, in order.
    /// - Parameter check: called again and again; what it throws is thrown.
    package func decide(
        _ discovered: FileBackedList<DiscoveredItem>,
        _ recipes: [any Recipe],
        _ planner: WorkPlanner,
        check: () throws -> Void = {}
    ) throws -> FileBackedList<WorkPlanner.Decision> {
        let foreign = foreignEntries(discovered, recipes, planner)
        return try planner.decide(discovered, known: items, foreign: foreign, edits: edits) { item in
            try check()
            return whole.contains(Int(item.id))
        }
    }

    /// What lies in the output folder and is not proven to be ours: no item may take its name. Ours is what the journal
    /// names, and what proves to be a whole result of the item that would have that name; a file called `result.json`
    /// proves nothing.
    private func foreignEntries(
        _ discovered: FileBackedList<DiscoveredItem>,
        _ recipes: [any Recipe],
        _ planner: WorkPlanner
    ) -> Set<String> {
        // No name is given then, and a shard does not look through the results of all others.
        guard discovered.contains(where: { items[$0.key] == nil }) else { return [] }
        var others = Set(FileSystem.entries(output.path))
        for item in items.all where !others.isEmpty { others.remove(item.name) }
        guard others.contains(where: output.holdsResult) else { return others }
        let named = zip(ItemNames(discovered, planner.identifiers).names, discovered).filter {
            others.contains($0.0) && $0.1.problem == nil
        }
        let requested = Dictionary(grouping: named, by: \.0).mapValues { $0.map(\.1) }
        return others.filter { entry in
            guard output.holdsResult(entry), let candidates = requested[entry] else { return true }
            return !candidates.contains { item in
                let folder = output.item(entry)
                return (try? recipes[item.recipe].recognize(folder: folder, fingerprint: item.fingerprint.hex)) != nil
            }
        }
    }
}
