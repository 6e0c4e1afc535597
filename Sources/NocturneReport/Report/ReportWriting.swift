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
            var page = PageInProgress { try self.page?.begin(batch, flag: flag) }
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
        guard isCurrent else { return report }
        try await journal.set(.reportRemarks, to: report.remarks)
        try await journal.set(.reportVersion, to: BatchReport.version)
        try await journal.set(.isReportUpToDate, to: true)
        return report
    }

    /// Writes the files, and the page's files of items.
    private func writeFiles(_ report: BatchReport, _ page: inout PageInProgress) async throws {
        var files = try ReportFiles(output, report)
        try files.begin()
        try await journal.forEachPart { records, place in
            let items = report.items(records, from: place)
            try files.write(items)
            page.add(items)
        }
        try files.putInPlace()
    }
}

/// The page while it is written. The report is written whether this succeeds or not, so errors are kept until the end.
private struct PageInProgress {
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
private struct ReportFiles: ~Copyable {
    private var text: ReportText
    private let batch: ReplacementFile
    private let statistics: ReplacementFile
    private let measurements: ReplacementFile
    private let retryList: ReplacementFile
    private let comparison: ReplacementFile?
    private let time: ReplacementFile?
    private let radiomics: ReplacementFile?
    /// Of optional files that an earlier report may have had.
    private let removed: [String]

    init(_ output: OutputFolder, _ report: BatchReport) throws {
        let text = try ReportText(report)
        let batch = try ReplacementFile(for: output.report)
        let statistics = try ReplacementFile(for: output.statistics)
        let measurements = try ReplacementFile(for: output.measurements)
        let retryList = try ReplacementFile(for: output.retryList)
        let comparison =
            report.comparison.isEmpty && report.notCompared.count == 0
            ? nil : try ReplacementFile(for: output.comparison)
        let time = report.hasTime ? try ReplacementFile(for: output.timeTable) : nil
        let radiomics = report.radiomics.isEmpty ? nil : try ReplacementFile(for: output.radiomics)
        let removed = [
            comparison == nil ? output.comparison : nil, time == nil ? output.timeTable : nil,
            radiomics == nil ? output.radiomics : nil,
        ].compactMap(\.self)
        // No call may throw between these.
        self.text = text
        self.batch = batch
        self.statistics = statistics
        self.measurements = measurements
        self.retryList = retryList
        self.comparison = comparison
        self.time = time
        self.removed = removed
        self.radiomics = radiomics
    }

    func begin() throws { try write(text.beginning) }

    mutating func write(_ items: [ReportedItem]) throws { try write(try text.part(items)) }

    func putInPlace() throws {
        try write(text.end)
        try batch.putInPlace()
        try statistics.putInPlace()
        try measurements.putInPlace()
        try retryList.putInPlace()
        try comparison?.putInPlace()
        try time?.putInPlace()
        try radiomics?.putInPlace()
        for path in removed { FileSystem.remove(path) }
    }

    private func write(_ part: ReportText.Part) throws {
        try batch.write(part[.batch])
        try statistics.write(part[.statistics])
        try measurements.write(part[.measurements])
        try retryList.write(part[.retryList])
        try comparison?.write(part[.comparison])
        try time?.write(part[.time])
        try radiomics?.write(part[.radiomics])
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
    nonisolated package func report(_ description: BatchDescription) async throws -> BatchReport {
        var collector = BatchReport.Collector(
            description,
            marks: try await marks(),
            texts: try await texts(),
            ranges: try await value(of: .referenceRanges) ?? []
        )
        try await forEachPart { records, _ in
            for record in records { try collector.add(record) }
        }
        return try collector.report()
    }
}
