import Foundation
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneReview
import NocturneSupervisor

/// An existing batch. Commands read journals only here.
enum ExistingBatch {
    /// The items and their parts.
    struct Contents: Sendable {
        let items: [JournalItem]
        let parts: [Int64: [ItemPart]]
        /// The pause of the run, or that with which the next one begins.
        var pause: RunPause?
        /// Nil before the first verification without a fault.
        var verified: VerifiedParts?
        /// Of the last report; nil before the first one.
        var remarks: ReportRemarks?
        var counts: BatchCounts { BatchCounts(of: items) }
    }

    /// The description that the batch was started with, to be continued by this version of the program.
    static func continued(_ output: OutputFolder) async throws -> BatchDescription {
        var description = try await description(of: output)
        description.version = Program.version
        return description
    }

    /// The description that the batch was started with.
    static func description(of output: OutputFolder) async throws -> BatchDescription {
        try output.checkHoldsBatch()
        let stored = try await output.reading { try await $0.value(of: .batchDescription) }
        guard let description = stored else { throw BatchError(notDescribed: output) }
        return description
    }

    /// What the folder's batch was started with; nil where it holds none, or its first run ended before it had recorded anything.
    static func held(by output: OutputFolder) async throws -> BatchDescription? {
        guard output.holdsBatch else { return nil }
        return try await output.reading { try await $0.value(of: .batchDescription) }
    }

    /// The description recorded by an earlier engine of the same run, which crashed: input lists may have been
    /// consumed, and files named by options may have changed. Nil for the first engine.
    static func startedByThisRun(_ output: OutputFolder) async throws -> BatchDescription? {
        guard let handover = ProcessHandover.toEngine, handover.previousEnd != nil, output.holdsBatch
        else { return nil }
        return try await output.reading { journal in
            // The name of the run shows that the description is of this run, not of an earlier one.
            let run = try await journal.value(of: .crashes)?.supervisor
            return run == handover.run ? try await journal.value(of: .batchDescription) : nil
        }
    }

    /// The inputs of completed items with a verdict of somebody that still counts, once each, as lists of inputs have them.
    static func inputs(of output: OutputFolder, marked verdict: ReviewVerdict) async throws -> [String] {
        try await output.reading { journal in
            var seen: Set<String> = []
            // Several items may be of one input; the list names it once.
            return try await ReviewedItems(in: output, marked: verdict).items(journal).map(\.path)
                .filter { seen.insert($0).inserted }.map(InputList.line)
        }
    }

    /// The first file with labels or measures of a completed item that is missing or not as the batch has recorded it.
    static func changedFile(of item: JournalItem, in output: OutputFolder) async throws -> String? {
        let result = ResultFolder(output.item(item.name))
        let written = try await output.reading { try await $0.writtenFiles(of: item.id) }
        let changed = written.first { !DisplayFiles.contain($0.path) && !result.isUnchanged($0) }
        return changed.map { result.path + "/" + $0.path }
    }

    /// Writes the report and the page again.
    /// - Parameter description: of a batch whose recipes write again what is about all items; nil to leave that as it is.
    static func renewal(of output: OutputFolder, _ description: BatchDescription? = nil) throws -> ReportRenewal {
        let results = RecipeResults()
        let summaries = try description.map { try LoadedModels.summaries($0) } ?? []
        return ReportRenewal(output, page: ReviewPage { results.reviewParts(of: $0) }, summaries: summaries)
    }

    /// - Parameter divided: the shards, whose journals have the present state of the items; nil for a batch that is whole.
    static func contents(of output: OutputFolder, _ divided: DividedBatch? = nil) async throws -> Contents {
        if let divided {
            let (items, parts) = try await divided.contents()
            return Contents(items: items, parts: parts)
        }
        return try await output.reading { journal in
            Contents(
                items: try await journal.items(),
                parts: try await journal.parts(),
                pause: try await journal.value(of: .pause),
                verified: try await journal.value(of: .verifiedParts),
                remarks: try await journal.value(of: .reportRemarks)
            )
        }
    }

    /// What there is to review.
    /// - Parameter isActive: whether a run is active; then no values are compared, which reads all statistics.
    /// - Returns: the marks of reviewers about results as they are now, and the names of items with unusual values, the most
    ///   unusual first.
    static func review(
        of output: OutputFolder,
        _ items: [JournalItem],
        isActive: Bool
    ) async throws -> (marks: [ReviewMark], unusual: [String]) {
        try await output.reading { journal in
            let marks = try await journal.marks().current(for: items)
            guard !isActive, let description = try await journal.value(of: .batchDescription) else {
                return (marks, [])
            }
            // An item may have several unusual values, which are sorted by how unusual they are.
            var seen: Set<Int> = []
            let unusual = try await journal.report(description).unusual.values
            return (marks, unusual.filter { seen.insert($0.item).inserted }.map { items[$0.item].name })
        }
    }
}

extension BatchArguments {
    /// The description that the engine before this one recorded, which may have read a list that can be read once; else that of
    /// the options.
    func description(continuing folder: OutputFolder) async throws -> BatchDescription {
        if let started = try await ExistingBatch.startedByThisRun(folder) { return started }
        let earlier = try await ExistingBatch.held(by: folder)
        return try description(version: Program.version, continuing: earlier) { text in
            if !ChangePreview.isThisProcess { Terminal.printMessage(text) }
        }
    }
}
