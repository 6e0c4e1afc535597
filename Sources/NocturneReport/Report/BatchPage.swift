public import NocturneOutput
public import NocturneSystem

/// A page for people that is written whenever the report is.
public protocol BatchPage: Sendable {
    /// Begins to write what has changed. Called after the report is written, from a thread that may wait for the disk, as is
    /// everything that it returns.
    /// - Throws: `CancelledError` once the flag is raised: the next run writes the page. `FileSystemError`.
    func begin(_ batch: ReportedBatch, flag: CancellationFlag) throws -> any BatchPageParts
}

/// A page that is being written, in parts.
public protocol BatchPageParts {
    /// Adds items in the order of discovery, ``BatchReport/itemsPerPart`` at a time; only the last part is shorter.
    mutating func add(_ items: [ReportedItem]) throws

    /// Writes what is about the whole batch.
    mutating func finish() throws
}

/// A batch as it is reported.
public struct ReportedBatch: Sendable {
    /// Where the page is written.
    public let output: OutputFolder
    /// The values about the whole batch. Items follow in parts.
    package let report: BatchReport

    /// - Parameters:
    ///   - output: where the page is written.
    ///   - report: the values about the whole batch.
    package init(output: OutputFolder, report: BatchReport) {
        self.output = output
        self.report = report
    }
}
