import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Checks `batch.json`, `statistics.csv` and `retry.txt` against the journal, and that files promised by items exist.
///
/// What the files should be is made from the journal again, in parts, and compared line by line.
extension BatchVerification {
    /// - Parameter promised: names of files about the batch that results refer to.
    /// - Throws: ``BatchError`` when the journal does not describe the batch; `CancelledError`; `JournalError`.
    func checkReport(
        _ journal: Journal,
        promised: Set<String>,
        _ flag: CancellationFlag,
        _ report: inout VerificationReport
    ) async throws {
        // A killed run leaves the report as it was. One fault names the cause, instead of one for each difference.
        guard try await journal.value(of: .isReportUpToDate) == true else {
            report.add(
                output.report,
                "is older than the journal: a run was interrupted; `nocturne resume` writes it again"
            )
            return
        }
        guard try await journal.value(of: .reportVersion) == BatchReport.version else {
            report.notes.append(
                "\(output.report): written in the form of an earlier version, and not checked; `nocturne resume` writes it again"
            )
            return
        }
        guard let description = try await journal.value(of: .batchDescription) else {
            throw BatchError(notDescribed: output)
        }
        let expected = try await journal.report(description, flag: flag)
        try await checkFiles(journal, expected, flag, &report)
        // Sorted, as sets have no order and the report of the verification must be the same every time.
        for name in promised.sorted() {
            let path = output.path + "/" + name
            guard FileSystem.kind(path) == .file else {
                report.add(path, Self.absence(of: path))
                continue
            }
            report.filesChecked += 1
            if let detail = inspection.inspectBatchFile(at: path) { report.add(path, detail) }
        }
    }

    /// Compares all files in one pass over the journal, which is read in parts.
    private func checkFiles(
        _ journal: Journal,
        _ expected: BatchReport,
        _ flag: CancellationFlag,
        _ report: inout VerificationReport
    ) async throws {
        var text = try ReportText(expected)
        var comparisons: [LineComparison] = []
        for file in ReportText.File.allCases where file.belongs(to: expected) {
            let path = file.path(in: output)
            guard FileSystem.kind(path) == .file else {
                report.add(path, Self.absence(of: path))
                continue
            }
            do {
                comparisons.append(try LineComparison(file, path))
            } catch {
                report.add(path, "cannot be read: \(error)")
            }
        }
        let (beginning, end) = (text.beginning, text.end)
        for comparison in comparisons { comparison.compare(beginning) }
        try await journal.forEachPart { records, place in
            try flag.check()
            let part = try text.part(expected.items(records, from: place))
            for comparison in comparisons { comparison.compare(part) }
        }
        for comparison in comparisons {
            if let fault = comparison.finish(end) { report.add(comparison.path, fault) }
            report.filesChecked += 1
            report.bytesChecked += FileSystem.size(comparison.path) ?? 0
        }
    }
}

extension BatchVerification {
    /// Finds the first line of a file that is not the one expected.
    private final class LineComparison {
        let path: String
        private let file: ReportText.File
        private var lines: LineReader
        private var number = 0
        /// The beginning of a line that continues in the next part.
        private var rest: [UInt8] = []
        private var fault: String?

        /// - Throws: `FileSystemError` for a file that cannot be opened.
        init(_ file: ReportText.File, _ path: String) throws(FileSystemError) {
            self.file = file
            self.path = path
            lines = try LineReader(path)
        }

        func compare(_ part: ReportText.Part) {
            guard fault == nil else { return }
            let expected = (rest + part[file]).split(separator: 10, omittingEmptySubsequences: false)
            rest = Array(expected[expected.count - 1])
            for line in expected.dropLast() where fault == nil { checkNext(Array(line)) }
        }

        /// - Returns: the first difference; nil for none.
        func finish(_ end: ReportText.Part) -> String? {
            compare(end)
            if fault == nil { checkNext(nil) }
            return fault
        }

        /// - Parameter expected: the next line; nil for the end of the file.
        private func checkNext(_ expected: [UInt8]?) {
            func quoted(_ line: [UInt8]?) -> String {
                line.map { "\"\(String(decoding: $0, as: UTF8.self).prefix(200))\"" } ?? "nothing"
            }
            do throws(FileSystemError) {
                let found = try lines.next()
                number += 1
                guard found != expected || lines.isIncomplete else { return }
                fault = "line \(number) is \(quoted(found)), according to the journal it is \(quoted(expected))"
            } catch {
                fault = "cannot be read: \(error)"
            }
        }
    }
}
