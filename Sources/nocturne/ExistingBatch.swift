import Foundation
import NocturneBatch
import NocturneJournal
import NocturneSupervisor
import NocturneSystem

/// An existing batch. Commands read journals only here.
enum ExistingBatch {
    /// The items and their parts.
    struct Contents: Sendable {
        let items: FileBackedList<JournalItem>
        let parts: [Int64: [ItemPart]]
        var counts: BatchCounts { BatchCounts(of: items) }
    }

    /// - Throws: ``BatchError`` for a folder without a batch.
    static func check(_ output: OutputFolder) throws { try output.checkHoldsBatch() }

    /// The description that the batch was started with, to be continued by this version of the program.
    static func continued(_ output: OutputFolder) async throws -> BatchDescription {
        var description = try await description(of: output)
        description.version = Nocturne.version
        return description
    }

    /// The description that the batch was started with.
    static func description(of output: OutputFolder) async throws -> BatchDescription {
        try check(output)
        let stored = try await output.reading { try await $0.value(of: .batchDescription) }
        guard let description = stored else { throw BatchError.notDescribed(output) }
        return description
    }

    /// The description recorded by an earlier engine of the same run, which crashed: input lists may have been
    /// consumed, and files named by options may have changed. Nil for the first engine.
    static func startedByThisRun(_ output: OutputFolder) async throws -> BatchDescription? {
        guard let handover = ProcessHandover.toEngine, handover.previousEnd != nil, output.holdsBatch
        else { return nil }
        return try await output.reading { journal in
            try await journal.value(of: .supervisor) == handover.run ? journal.value(of: .batchDescription) : nil
        }
    }

    /// The inputs of completed items with a verdict of somebody that still counts, once each, as lists of inputs have them.
    static func inputs(of output: OutputFolder, marked verdict: ReviewVerdict) async throws -> [String] {
        try await output.reading { journal in
            var seen: Set<String> = []
            return try await ReviewedItems(in: output, marked: verdict).items(journal).map(\.path)
                .filter { seen.insert($0).inserted }.map(InputList.line)
        }
    }

    static func contents(of output: OutputFolder) async throws -> Contents {
        try await output.reading { journal in
            Contents(items: try await journal.items(), parts: try await journal.parts())
        }
    }

    /// What there is to review.
    struct Review: Sendable {
        /// Of reviewers, about results as they are now.
        let marks: [ReviewMark]
        /// The names of items with unusual values, the most unusual first.
        let unusual: [String]
    }

    /// - Parameter isActive: whether a run is active; then no values are compared, which reads all statistics.
    static func review(
        of output: OutputFolder,
        _ items: FileBackedList<JournalItem>,
        isActive: Bool
    ) async throws -> Review {
        try await output.reading { journal in
            let marks = try await journal.marks().current(for: items)
            guard !isActive, let description = try await journal.value(of: .batchDescription) else {
                return Review(marks: marks, unusual: [])
            }
            var seen: Set<Int> = []
            let unusual = try await journal.report(description).unusual.values
            return Review(
                marks: marks,
                unusual: unusual.filter { seen.insert($0.item).inserted }.map { items[$0.item].name }
            )
        }
    }
}

extension BatchError {
    /// For a folder whose first run ended before it had recorded anything.
    static func notDescribed(_ output: OutputFolder) -> BatchError {
        BatchError(.notABatch, path: output.path, detail: "the journal does not describe the batch")
    }
}
