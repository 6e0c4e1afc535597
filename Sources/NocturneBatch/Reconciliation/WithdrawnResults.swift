package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The results of a batch that are no longer part of it, since their input or model is no longer given, or since other items are
/// made of their files.
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
    package func contains(_ result: AbsentResult, isThere: (String) -> Bool) -> Bool {
        if !models.isEmpty, !models.contains(result.model) { return true }
        if result.isReplaced { return true }
        let isGiven = inputs.contains { FileSystem.isWithin(result.path, $0) }
        return !isGiven || withUnselected && isThere(result.firstFile)
    }

    /// How many results of a batch that were not found are withdrawn, and how many stay.
    package func counts(in journal: Journal) async throws -> (withdrawn: Int, kept: Int) {
        var counts = (withdrawn: 0, kept: 0)
        try await journal.findTakenFiles()
        try await forEachPortion(in: journal, {}) { withdrawn, kept in
            counts.withdrawn += withdrawn.count
            counts.kept += kept.count
        }
        return counts
    }

    /// Withdraws results.
    /// - Parameters:
    ///   - journal: after ``Journal/findTakenFiles()``.
    ///   - namesGone: whether a note names the results that stay although their sources were not found.
    ///   - check: called again and again; what it throws is thrown.
    /// - Returns: notes about those that are withdrawn, and about those that stay.
    func perform(
        in output: OutputFolder,
        _ journal: Journal,
        at time: String,
        namesGone: Bool,
        check: () throws -> Void
    ) async throws -> [String] {
        var (count, replaced, gone) = (0, FirstNames(), FirstNames())
        try await forEachPortion(in: journal, check) { withdrawn, kept in
            for (isReplaced, reason) in [(false, Self.reason), (true, Self.replacedReason)] {
                let ids = withdrawn.filter { $0.isReplaced == isReplaced }.map(\.id)
                try await journal.setAside(ids, .discovered(.vanished, reason), at: time)
            }
            for result in withdrawn where result.isReplaced { replaced.add(result.name) }
            count += withdrawn.count
            // A file that a watch has not taken yet is there.
            for result in kept where namesGone && !FileSystem.exists(result.firstFile) { gone.add(result.name) }
        }
        var notes: [String] = []
        func leave(_ count: Int) -> String {
            counted(count, "result") + (count == 1 ? " leaves the batch" : " leave the batch")
        }
        if replaced.count > 0 {
            notes.append("\(leave(replaced.count)) (\(replaced.text)): other items are made of the files")
        }
        if count > replaced.count {
            notes.append("\(leave(count - replaced.count)): the input or the model is no longer given")
        }
        if gone.count > 0 {
            let stay = gone.count == 1 ? "stays, but its source was" : "stay, but their sources were"
            notes.append(
                "\(counted(gone.count, "result")) \(stay) not found (\(gone.text)). If the source no longer exists, "
                    + "`nocturne forget \(output.argument) ITEM` removes a result from the batch"
            )
        }
        return notes
    }

    private static let reason: Sentence =
        "its input or its model is no longer given; the result stays in its folder and counts again when both are given"

    private static let replacedReason: Sentence =
        "other items are made of its files now; the result stays in its folder"

    private func forEachPortion(
        in journal: Journal,
        _ check: () throws -> Void,
        _ body: (_ withdrawn: [AbsentResult], _ kept: [AbsentResult]) async throws -> Void
    ) async throws {
        var last: Int64 = 0
        while true {
            let results = try await journal.absentResults(after: last, limit: FoundTable.itemsAtOnce)
            guard let end = results.last else { return }
            last = end.id
            var (withdrawn, kept): ([AbsentResult], [AbsentResult]) = ([], [])
            for result in results {
                try check()
                let leaves = contains(result) { FileSystem.exists($0) }
                if leaves { withdrawn.append(result) } else { kept.append(result) }
            }
            try await body(withdrawn, kept)
        }
    }
}
