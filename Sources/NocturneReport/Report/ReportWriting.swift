package import NocturneConcurrency
package import NocturneJournal
package import NocturneOutput
package import NocturneSystem

/// Writes the files about the whole batch from its journal, in parts: memory does not grow with what the results hold.
package struct ReportWriting {
    private let journal: Journal
    private let output: OutputFolder
    private let page: (any BatchPage)?
    private let summaries: [BatchSummary]
    private let flag: CancellationFlag

    /// - Parameters:
    ///   - journal: from which everything is made.
    ///   - output: where it is written.
    ///   - page: the page for people; nil for none.
    ///   - summaries: what recipes write about all items.
    ///   - flag: once it is raised, the page is given up, and the report is not.
    package init(
        journal: Journal,
        output: OutputFolder,
        page: (any BatchPage)?,
        summaries: [BatchSummary],
        flag: CancellationFlag
    ) {
        self.journal = journal
        self.output = output
        self.page = page
        self.summaries = summaries
        self.flag = flag
    }

    /// Writes all files, each in one step, and records that they are up to date.
    /// - Parameters:
    ///   - pool: on which files are written.
    ///   - isCurrent: whether nothing else changes the journal meanwhile; else nothing is recorded.
    /// - Throws: `CancelledError` once the flag is raised: the report is there then, and the page is not; `JournalError`;
    ///   `FileSystemError`.
    package func write(
        _ description: BatchDescription,
        on pool: BlockingPool,
        isCurrent: Bool = true
    ) async throws -> BatchReport {
        let report = try await withTaskExecutorPreference(pool) {
            try FaultPoint.batchReport.pass()
            let report = try await journal.report(description)
            let batch = ReportedBatch(output: output, report: report)
            var page = Page { try self.page?.begin(batch, flag: flag) }
            try await writeFiles(report, &page)
            for summary in summaries {
                try summary(
                    { body in
                        try journal.found.forEachCompleted { name in try body(output.item(name)) }
                    },
                    output.path,
                    flag
                )
            }
            try page.finish()
            try FileSystem.flush(output.path)
            return report
        }
        // While a run goes on, the report is behind the journal as soon as it is written.
        guard isCurrent else { return report }
        try await journal.set(.reportRemarks, to: report.remarks)
        try await journal.set(.reportVersion, to: BatchReport.version)
        // Last: after an interruption before it, the report counts as old and is written again.
        try await journal.set(.isReportUpToDate, to: true)
        return report
    }

    /// Writes the files, and the page's files of items.
    private func writeFiles(_ report: BatchReport, _ page: inout Page) async throws {
        var files = try Files(output, report)
        try files.begin()
        try await journal.forEachPart { records, place in
            // Made once for all files and the page.
            let items = report.items(records, from: place)
            try files.write(items)
            page.add(items)
        }
        try files.putInPlace()
    }
}

extension JournalSetting<ReportRemarks> {
    /// Of the report that was written last.
    package static var reportRemarks: Self { Self(json: "reportRemarks") }
}

extension Journal {
    /// Calls `body` with the items in the order of discovery, ``BatchReport/itemsPerPart`` at a time; only the last part is
    /// shorter. `place` is how many items were before.
    nonisolated package func forEachPart(
        _ body: (_ records: [ItemRecord], _ place: Int) async throws -> Void
    ) async throws {
        // From the id of the last item on: with an offset, each part would step over all rows before it.
        var (last, place): (Int64, Int) = (0, 0)
        while true {
            let records = try await records(after: last, limit: BatchReport.itemsPerPart)
            if let end = records.last {
                try await body(records, place)
                (last, place) = (end.item.id, place + records.count)
            }
            if records.count < BatchReport.itemsPerPart { return }
        }
    }

    /// The report's values about the batch as a whole.
    /// - Throws: `CancelledError` once the flag is raised; `JournalError`.
    nonisolated package func report(
        _ description: BatchDescription,
        flag: CancellationFlag = CancellationFlag()
    ) async throws -> BatchReport {
        var collector = BatchReport.Collector(
            description,
            marks: try await marks(),
            texts: try await texts(),
            ranges: try await value(of: .referenceRanges) ?? []
        )
        try await forEachPart { records, _ in
            try flag.check()
            for record in records { try collector.add(record) }
        }
        return try collector.report()
    }
}

extension ReportWriting {
    /// The page while it is written. The report is written whether this succeeds or not, so errors are kept until the end.
    private struct Page {
        /// Nil in a success for a report without a page.
        private var parts: Result<(any BatchPageParts)?, any Error>

        init(_ begin: () throws -> (any BatchPageParts)?) { parts = Result(catching: begin) }

        mutating func add(_ items: [ReportedItem]) {
            parts = parts.flatMap { parts in
                Result {
                    var parts = parts
                    try parts?.add(items)
                    return parts
                }
            }
        }

        mutating func finish() throws {
            var parts = try parts.get()
            try parts?.finish()
        }
    }

    /// The files of the report while they are written.
    private struct Files {
        private let output: OutputFolder
        private var text: ReportText
        private let files: [ReportText.File: ReplacementFile]

        init(_ output: OutputFolder, _ report: BatchReport) throws {
            self.output = output
            text = try ReportText(report)
            files = try ReportText.File.allCases.filter { $0.belongs(to: report) }.reduce(into: [:]) {
                $0[$1] = try ReplacementFile(for: $1.path(in: output))
            }
        }

        func begin() throws { try write(text.beginning) }

        mutating func write(_ items: [ReportedItem]) throws { try write(try text.part(items)) }

        func putInPlace() throws {
            try write(text.end)
            for file in ReportText.File.allCases { try files[file]?.putInPlace() }
            // Those that an earlier report may have had.
            for file in ReportText.File.allCases where files[file] == nil { FileSystem.remove(file.path(in: output)) }
        }

        private func write(_ part: ReportText.Part) throws {
            // In a fixed order, which faults that are injected count on.
            for file in ReportText.File.allCases { try files[file]?.write(part[file]) }
        }
    }
}
