public import NocturneSystem

/// A page for people that is written whenever the report is.
public protocol BatchPage: Sendable {
    /// Writes what has changed. Called after the report, from a thread that may wait for the disk.
    /// - Throws: `CancelledError` once the flag is raised: the next run writes it. `FileSystemError`.
    func write(_ batch: ReportedBatch, flag: CancellationFlag) throws
}

/// A batch as it is reported.
public struct ReportedBatch: Sendable {
    public let output: OutputFolder
    package let report: BatchReport

    package init(output: OutputFolder, report: BatchReport) {
        self.output = output
        self.report = report
    }
}
