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

    /// How many results of a batch are withdrawn.
    package func count(in journal: Journal) async throws -> Int {
        var count = 0
        try await forEachPortion(in: journal, {}) { count += $0.count }
        return count
    }

    /// Withdraws results.
    /// - Parameter check: called again and again; what it throws is thrown.
    /// - Returns: how many.
    func perform(in journal: Journal, at time: String, check: () throws -> Void) async throws -> Int {
        var count = 0
        try await forEachPortion(in: journal, check) { ids in
            try await journal.setAside(ids, .discovered(.vanished, Self.reason), at: time)
            count += ids.count
        }
        return count
    }

    private static let reason: Sentence =
        "its input or its model is no longer given; the result stays in its folder and counts again when both are given"

    private func forEachPortion(
        in journal: Journal,
        _ check: () throws -> Void,
        _ body: ([Int64]) async throws -> Void
    ) async throws {
        var last: Int64 = 0
        while true {
            let results = try await journal.absentResults(after: last, limit: FoundTable.itemsAtOnce)
            guard let end = results.last else { return }
            last = end.id
            let withdrawn = try results.filter { result in
                try check()
                return contains(path: result.path, model: result.model) { FileSystem.exists($0) }
            }
            let ids = withdrawn.map(\.id)
            if !ids.isEmpty { try await body(ids) }
        }
    }
}
