public import NocturneJournal
public import NocturneSystem

/// A page for people that is written whenever the report is.
public protocol BatchPage: Sendable {
    /// Writes what has changed. Called after the report, from a thread that may wait for the disk.
    /// - Throws: `CancelledError` once the flag is raised: the next run writes it. `FileSystemError`.
    func write(_ batch: ReportedBatch, flag: CancellationFlag) throws
}

/// What the report about a batch is made of.
public struct ReportedBatch: Sendable {
    public let output: OutputFolder
    package let report: BatchReport
    /// In the order of item, object and person.
    public let marks: [ReviewMark]

    package init(output: OutputFolder, report: BatchReport, marks: [ReviewMark]) {
        self.output = output
        self.report = report
        self.marks = marks
    }
}
