import Foundation
import NocturneBatch
import NocturneSupervisor
import NocturneSystem

/// A batch that is there already: the only place of the commands that reads journals.
enum ExistingBatch {
    /// The items and their parts.
    struct Contents {
        let items: [JournalItem]
        let parts: [Int64: [ItemPart]]
        var counts: BatchCounts { BatchCounts(of: items) }
    }

    /// - Throws: ``BatchError`` for a folder without a batch.
    static func check(_ output: OutputFolder) throws {
        guard output.holdsBatch else {
            throw BatchError(
                .notABatch,
                path: output.path,
                detail: "holds no batch: there is no .nocturne/journal.sqlite"
            )
        }
    }

    /// The description that the batch was started with.
    static func description(of output: OutputFolder) async throws -> BatchDescription {
        try check(output)
        guard let description = try await reading(output, description(in:)) else {
            throw BatchError(.notABatch, path: output.path, detail: "the journal does not describe the batch")
        }
        return description
    }

    /// The description that an engine of this very run has recorded before it crashed: lists may have been read to their
    /// ends, and files of options may be different by now. Nil for the first engine.
    static func startedByThisRun(_ output: OutputFolder) async throws -> BatchDescription? {
        guard let handover = ProcessHandover.toEngine, handover.previousEnd != nil, output.holdsBatch
        else { return nil }
        return try await reading(output) { journal in
            try journal.setting("supervisor") == handover.run ? try description(in: journal) : nil
        }
    }

    static func contents(of output: OutputFolder) async throws -> Contents {
        try await reading(output) { Contents(items: try $0.items(), parts: try $0.parts()) }
    }

    private static func reading<Result>(
        _ output: OutputFolder,
        _ body: (Journal) throws -> Result
    ) async throws -> Result {
        let journal = try Journal(path: output.journal)
        defer { journal.close() }
        return try body(journal)
    }

    private static func description(in journal: Journal) throws -> BatchDescription? {
        try journal.setting("description").flatMap {
            try? JSONDecoder().decode(BatchDescription.self, from: Data($0.utf8))
        }
    }
}
