package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// Decides about every found item, in the order of discovery, and has the journal record it: for a run in its own journal, for
/// a plan in a copy.
package struct Reconciler: Sendable {
    /// A found item and what is done about it.
    package typealias Decided = (candidate: Candidate, decision: WorkPlanner.Decision)

    let journal: Journal
    /// Nil for a plan without an output folder.
    let output: OutputFolder?
    let recipes: [any Recipe]
    let planner: WorkPlanner
    var time: any TimeSource = SystemTime()

    /// - Parameters:
    ///   - journal: records the decisions; its table has the found items.
    ///   - output: nil for a plan without an output folder.
    ///   - recipes: in the order of the indices in items.
    ///   - planner: decides.
    package init(_ journal: Journal, _ output: OutputFolder?, _ recipes: [any Recipe], _ planner: WorkPlanner) {
        (self.journal, self.output, self.recipes, self.planner) = (journal, output, recipes, planner)
    }

    /// Calls `body` with some items at a time, and records what it returns. After an interruption the rest gets the same names.
    /// - Parameters:
    ///   - check: called again and again; what it throws is thrown.
    ///   - body: what is recorded of each item, in their order.
    package func forEachPortion(
        check: () throws -> Void = {},
        _ body: ([Decided]) async throws -> [CandidateAction]
    ) async throws {
        let table = journal.found
        try table.order()
        var names = try preferredNames(try await journal.edits(), check)
        var place: Int64 = 0
        while let last = try await portion(after: place, &names, check, body) { place = last }
    }

    /// - Returns: the last place; nil when there are no more items.
    private func portion(
        after place: Int64,
        _ names: inout ItemNames.Alternatives?,
        _ check: () throws -> Void,
        _ body: ([Decided]) async throws -> [CandidateAction]
    ) async throws -> Int64? {
        let candidates = try journal.found.candidates(after: place)
        var decided: [Decided] = []
        for candidate in candidates {
            try check()
            decided.append((candidate, try decide(candidate, &names)))
        }
        try await journal.perform(try await body(decided), at: time.wallClock.timestamp)
        names?.recorded()
        return candidates.last?.place
    }

    private func decide(
        _ candidate: Candidate,
        _ names: inout ItemNames.Alternatives?
    ) throws -> WorkPlanner.Decision {
        var item = candidate.item
        if let before = candidate.before { item.key = before.key }
        let preferred = candidate.preferredName ?? (WorkPlanner.safeName(item.name), false)
        return try planner.decide(
            item,
            before: candidate.before,
            edit: candidate.edit,
            keepsEdit: { candidate.edit.map { keepsLabels($0, item) } ?? false },
            name: {
                try names?.name(of: item, preferred: preferred.name, isFree: preferred.isFree) ?? (preferred.name, nil)
            },
            isIntact: { candidate.before.map { isIntact($0.name, candidate.files) } ?? false }
        )
    }

    /// Whether the labels that were edited are those that the model would give today.
    private func keepsLabels(_ edit: LabelEdit, _ item: DiscoveredItem) -> Bool {
        guard let output else { return false }
        return recipes[item.recipe].keepsEdits(source: item.source, of: output.editedLabels(of: edit.item).result)
    }

    /// Whether the result of an item lies in its folder with every file.
    private func isIntact(_ name: String, _ files: [ItemFile]) -> Bool {
        guard let output else { return false }
        return !files.isEmpty && output.holdsResult(name)
            && files.allSatisfy { FileSystem.size(output.item(name) + "/" + $0.path) == $0.bytes }
    }

    // MARK: Names

    /// Nil where all items are known: then no name is given, and a shard does not look through the results of all others.
    private func preferredNames(
        _ edits: [String: LabelEdit],
        _ check: () throws -> Void
    ) throws -> ItemNames.Alternatives? {
        guard try journal.found.hasNew() else { return nil }
        let names = ItemNames(journal.found, planner.identifiers, below: planner.inputs)
        try names.find(check: check)
        return ItemNames.Alternatives(names, foreign: try foreignEntries(edits, check))
    }

    /// What lies in the output folder and is not proven to be ours: no item may take its name. Ours is what the journal
    /// names, and what proves to be a whole result of the item that would have that name; a file called `result.json`
    /// proves nothing.
    private func foreignEntries(_ edits: [String: LabelEdit], _ check: () throws -> Void) throws -> Set<String> {
        guard let output else { return [] }
        let table = journal.found
        let others = try FileSystem.entries(output.path).filter { try table.recordedItem(named: $0) == nil }
        return Set(
            try others.filter { entry in
                // A result that the journal does not have is recognized by the digests of all its files.
                try check()
                guard output.holdsResult(entry) else { return true }
                return try !table.items(called: entry).contains { item in
                    // An edit may have been adopted and not been processed yet.
                    let edit = edits[entry].flatMap { edit in
                        edit.applied(to: item.fingerprint) { keepsLabels(edit, item) }
                    }
                    return [item.fingerprint, edit?.fingerprint].compactMap(\.?.hex).contains { fingerprint in
                        let folder = output.item(entry)
                        return (try? recipes[item.recipe].recognize(folder: folder, fingerprint: fingerprint)) != nil
                    }
                }
            }
        )
    }
}

extension CandidateAction {
    /// What a decision changes in the journal.
    package init(_ candidate: Candidate, _ decision: WorkPlanner.Decision) {
        self.init(place: candidate.place)
        if decision.changes(candidate.before) { entry = decision.entry }
        edit = decision.edit
    }
}
