import NocturneConcurrency
public import NocturneJournal
public import NocturneSystem

/// Writes what a recipe has to say about the whole batch, as ``Recipe/summarize(folders:into:flag:)`` does.
public typealias BatchSummary =
    @Sendable (_ folders: FileBackedList<String>, _ output: String, _ flag: CancellationFlag) throws -> Void

/// Writes the report of a batch on which no run works, after marks were added or files were lost.
public struct ReportRenewal: Sendable {
    /// What the report counts.
    public struct Outcome: Sendable {
        public let counts: BatchCounts
        public let remarks: ReportRemarks
    }

    private let output: OutputFolder
    private let page: any BatchPage
    private let summaries: [BatchSummary]

    /// - Parameter summaries: what recipes write about all items; those that lie in the folder stay where there is none.
    public init(_ output: OutputFolder, page: any BatchPage, summaries: [BatchSummary] = []) {
        self.output = output
        self.page = page
        self.summaries = summaries
    }

    /// Changes the journal, then writes the report and the page.
    /// - Parameter change: what is done before, such as adding marks; it gets the items.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active, or `notABatch`; `JournalError`; `FileSystemError`.
    public func write(
        after change: (Journal, FileBackedList<JournalItem>) async throws -> Void = { _, _ in }
    ) async throws -> Outcome {
        let lock = try BatchLock(output)
        defer { withExtendedLifetime(lock) {} }
        return try await Journal.with(path: output.journal) { journal in
            guard let description = try await journal.value(of: .batchDescription) else {
                throw BatchError(.notABatch, path: output.path, detail: "the journal does not describe the batch")
            }
            try await change(journal, try await journal.items())
            _ = try output.keepForeignReports()
            let writing = ReportWriting(
                journal: journal,
                output: output,
                page: page,
                summaries: summaries,
                flag: CancellationFlag()
            )
            let pool = try BlockingPool(width: 1)
            defer { pool.shutdown() }
            let report = try await writing.write(description, on: pool)
            return Outcome(counts: report.counts, remarks: report.remarks)
        }
    }
}
