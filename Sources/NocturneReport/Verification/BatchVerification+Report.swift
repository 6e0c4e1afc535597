import Foundation
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// Checks `batch.json`, `statistics.csv` and `retry.txt` against the journal, and that files promised by items exist.
///
/// What the files should be is made from the journal again, in parts, and compared byte by byte. Only files that differ are
/// looked into.
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
        let different = try await differentFiles(journal, expected, flag, &report)
        // Read as a document only if its bytes differ, as a document is parsed as a whole.
        if different.contains(output.report) { try await checkBatch(journal, expected, flag, &report) }
        for file in ReportText.File.allCases where file != .batch && different.contains(file.path(in: output)) {
            if let fault = try await firstDifferentLine(of: file, journal, expected, flag) {
                report.add(file.path(in: output), fault)
            }
        }
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

    /// The files whose bytes are not those that the journal gives; missing ones are reported and left out.
    private func differentFiles(
        _ journal: Journal,
        _ expected: BatchReport,
        _ flag: CancellationFlag,
        _ report: inout VerificationReport
    ) async throws -> Set<String> {
        var text = try ReportText(expected)
        // All files in one pass over the journal, which is read in parts.
        var comparisons: [FileComparison] = []
        for file in ReportText.File.allCases where file.belongs(to: expected) {
            let path = file.path(in: output)
            guard FileSystem.kind(path) == .file else {
                report.add(path, Self.absence(of: path))
                continue
            }
            comparisons.append(FileComparison(file, path))
        }
        for index in comparisons.indices { comparisons[index].compare(text.beginning) }
        try await journal.forEachPart { records, place in
            try flag.check()
            let part = try text.part(expected.items(records, from: place))
            for index in comparisons.indices { comparisons[index].compare(part) }
        }
        for index in comparisons.indices { comparisons[index].compare(text.end) }
        for comparison in comparisons {
            report.filesChecked += 1
            report.bytesChecked += FileSystem.size(comparison.path) ?? 0
        }
        return Set(comparisons.filter { !$0.isSame }.map(\.path))
    }

    private func checkBatch(
        _ journal: Journal,
        _ expected: BatchReport,
        _ flag: CancellationFlag,
        _ report: inout VerificationReport
    ) async throws {
        let path = output.report
        guard let written = readBatch(&report) else { return }
        let head = ReportText.Head(expected)
        if written.counts != head.counts { report.add(path, "its counts are not those of the journal") }
        if written.items.count != head.counts.inputs {
            report.add(path, "has \(written.items.count) items, the journal has \(head.counts.inputs)")
        }
        var differences: [String] = []
        try await journal.forEachPart { records, place in
            try flag.check()
            let known = expected.items(records, from: place).map(\.entry)
            for (found, known) in zip(written.items.dropFirst(place), known) where found != known {
                differences.append("has \(found.item): \(found.text); the journal has \(known.item): \(known.text)")
            }
        }
        for difference in differences { report.add(path, difference) }
        if written.models != head.models || written.options != head.options {
            report.add(path, "its models or options are not those of the journal")
        }
        // A note: a batch may be continued by another version, which writes the report when it ends.
        if written.version != head.version {
            let fact = "written by version \(written.version), the batch was continued by \(head.version)"
            report.notes.append("\(path): \(fact)")
        }
    }

    /// What `batch.json` holds; nil for a file that cannot be used, which is a fault then.
    func readBatch(_ report: inout VerificationReport) -> ReportText.Head? {
        do {
            let bytes = try FileSystem.read(output.report, limit: 1 << 32)
            if let first = try JSONSchema.batch.faults(in: bytes).first {
                report.add(output.report, "does not match its schema: \(first)")
                return nil
            }
            return try JSONDecoder().decode(ReportText.Head.self, from: Data(bytes))
        } catch {
            report.add(output.report, "cannot be read: \(error)")
            return nil
        }
    }

    private func firstDifferentLine(
        of file: ReportText.File,
        _ journal: Journal,
        _ expected: BatchReport,
        _ flag: CancellationFlag
    ) async throws -> String? {
        var text = try ReportText(expected)
        do {
            var comparison = LineComparison(try LineReader(file.path(in: output)))
            try comparison.compare(text.beginning[file])
            try await journal.forEachPart { records, place in
                try flag.check()
                try comparison.compare(try text.part(expected.items(records, from: place))[file])
            }
            try comparison.compare(text.end[file])
            return try comparison.finish()
        } catch let error as FileSystemError {
            return "cannot be read: \(error)"
        }
    }
}

extension BatchVerification {
    /// Whether a file has the bytes that are expected, which come in parts.
    private struct FileComparison {
        let path: String
        private let kind: ReportText.File
        private var place = 0
        private var isEqual = true

        init(_ kind: ReportText.File, _ path: String) {
            self.kind = kind
            self.path = path
        }

        mutating func compare(_ part: ReportText.Part) {
            let bytes = part[kind]
            guard isEqual, !bytes.isEmpty else { return }
            // A file that cannot be read is looked into later.
            isEqual = (try? FileDescriptor(reading: path).read(count: bytes.count, at: place)) == bytes
            place += bytes.count
        }

        var isSame: Bool { isEqual && FileSystem.size(path) == place }
    }

    /// Finds the first line of a file that is not the one expected.
    private struct LineComparison: ~Copyable {
        private var lines: LineReader
        private var number = 0
        private var fault: String?

        init(_ lines: consuming LineReader) { self.lines = lines }

        /// - Parameter text: the next whole lines.
        mutating func compare(_ text: [UInt8]) throws(FileSystemError) {
            // Line feeds end lines, so what follows the last one is empty and left out.
            for line in text.split(separator: 10, omittingEmptySubsequences: false).dropLast() where fault == nil {
                let found = try lines.next()
                number += 1
                if found != Array(line) || lines.isIncomplete { fault = Self.text(number, found, Array(line)) }
            }
        }

        mutating func finish() throws(FileSystemError) -> String? {
            if fault == nil, let line = try lines.next() { fault = Self.text(number + 1, line, nil) }
            return fault
        }

        private static func text(_ number: Int, _ found: [UInt8]?, _ expected: [UInt8]?) -> String {
            func quoted(_ line: [UInt8]?) -> String {
                line.map { "\"\(String(decoding: $0, as: UTF8.self).prefix(200))\"" } ?? "nothing"
            }
            return "line \(number) is \(quoted(found)), according to the journal it is \(quoted(expected))"
        }
    }
}
