package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The results of a batch that are no longer part of it, since their input or model is no longer given.
///
/// They leave the tables, as if the batch had been started without them. Their files stay: when the input and the model are
/// given again, the results are part of the batch again, without being made again.
package struct WithdrawnResults: Sendable {
    /// The ids of the models, and the tasks of recipes without one, which stand for it.
    private let models: Set<String>
    private let inputs: [String]
    private let withUnselected: Bool
    /// Whether results that stay may not be what would be made today: options or models have changed.
    package var namesKept = false

    private typealias Result = (id: Int64, path: String, model: String, name: String)

    /// - Parameter withUnselected: whether also results are withdrawn whose input is there and was not found: what is selected
    ///   has changed. Otherwise a file that a watch has not taken yet would withdraw its earlier result.
    package init(_ description: BatchDescription, withUnselected: Bool) {
        models = Set(description.models.map(\.id) + description.recipes)
        inputs = description.inputs
        self.withUnselected = withUnselected
    }

    /// Whether the result of an item that was not found is withdrawn. That of a file that was deleted is not.
    package func contains(path: String, model: String, isThere: (String) -> Bool) -> Bool {
        if !models.isEmpty, !models.contains(model) { return true }
        let isGiven = inputs.contains { FileSystem.isWithin(path, $0) }
        return !isGiven || withUnselected && isThere(path)
    }

    /// How many results of a batch that were not found are withdrawn, and how many stay.
    package func counts(in journal: Journal) async throws -> (withdrawn: Int, kept: Int) {
        var counts = (withdrawn: 0, kept: 0)
        try await forEachPortion(in: journal, {}) { withdrawn, kept in
            counts.withdrawn += withdrawn.count
            counts.kept += kept.count
        }
        return counts
    }

    /// Withdraws results.
    /// - Parameter check: called again and again; what it throws is thrown.
    /// - Returns: notes about those that are withdrawn, and about those that stay since their sources no longer exist.
    func perform(in journal: Journal, at time: String, check: () throws -> Void) async throws -> [String] {
        var (count, gone, first): (Int, Int, String?) = (0, 0, nil)
        try await forEachPortion(in: journal, check) { withdrawn, kept in
            try await journal.setAside(withdrawn.map(\.id), .discovered(.vanished, Self.reason), at: time)
            count += withdrawn.count
            guard namesKept else { return }
            // A file that a watch has not taken yet is there.
            let names = kept.filter { !FileSystem.exists($0.path) }.map(\.name)
            gone += names.count
            first = first ?? names.first
        }
        var notes: [String] = []
        if count > 0 {
            let leave = count == 1 ? "leaves" : "leave"
            notes.append("\(counted(count, "result")) \(leave) the batch: the input or the model is no longer given")
        }
        if let first {
            let others = gone == 1 ? "" : " and \(counted(gone - 1, "other"))"
            notes.append("\(first)\(others): not made again, since the source no longer exists; the result stays")
        }
        return notes
    }

    private static let reason: Sentence =
        "its input or its model is no longer given; the result stays in its folder and counts again when both are given"

    private func forEachPortion(
        in journal: Journal,
        _ check: () throws -> Void,
        _ body: (_ withdrawn: [Result], _ kept: [Result]) async throws -> Void
    ) async throws {
        var last: Int64 = 0
        while true {
            let results = try await journal.absentResults(after: last, limit: FoundTable.itemsAtOnce)
            guard let end = results.last else { return }
            last = end.id
            var (withdrawn, kept): ([Result], [Result]) = ([], [])
            for result in results {
                try check()
                let leaves = contains(path: result.path, model: result.model) { FileSystem.exists($0) }
                if leaves { withdrawn.append(result) } else { kept.append(result) }
            }
            try await body(withdrawn, kept)
        }
    }
}
