import Foundation
import NocturneCore
import NocturneJournal
import NocturneSystem

/// Checks `batch.json`, `statistics.csv` and `retry.txt` against the journal, and that files promised by items exist.
struct BatchReportVerification {
    let output: OutputFolder
    let contents: JournalContents
    let inspection: any ResultInspection

    func check(promised: Set<String>, _ report: inout VerificationReport) throws {
        guard contents.isReportUpToDate else {
            report.add(
                output.report,
                "is older than the journal: a run was interrupted; `nocturne resume` writes it again"
            )
            return
        }
        guard contents.hasThisReportVersion else {
            report.notes.append(
                "\(output.report): written in the form of an earlier version, and not checked; `nocturne resume` writes it again"
            )
            return
        }
        let expected = try contents.report(of: output)
        checkBatch(expected.report, &report)
        checkLines(output.statistics, expected: expected.statisticsTable, &report)
        if let table = expected.comparisonTable { checkLines(output.comparison, expected: table, &report) }
        checkLines(output.retryList, expected: expected.retryList, &report)
        for name in promised.sorted() {
            let path = output.path + "/" + name
            guard FileSystem.kind(path) == .file else {
                report.add(path, "is missing")
                continue
            }
            report.filesChecked += 1
            if let detail = inspection.inspectBatchFile(at: path) { report.add(path, detail) }
        }
    }

    private func checkBatch(_ expected: BatchReport.Report, _ report: inout VerificationReport) {
        let path = output.report
        guard let bytes = read(path, &report) else { return }
        do {
            if let first = try PipelineSchemas.batch.faults(in: bytes).first {
                return report.add(path, "does not match its schema: \(first)")
            }
            let written = try JSONDecoder().decode(BatchReport.Report.self, from: Data(bytes))
            if written.counts != expected.counts { report.add(path, "its counts are not those of the journal") }
            if written.items.count != expected.items.count {
                report.add(path, "has \(written.items.count) items, the journal has \(expected.items.count)")
            }
            for (found, known) in zip(written.items, expected.items) where found != known {
                report.add(path, "has \(found.item): \(found.text); the journal has \(known.item): \(known.text)")
            }
            if written.models != expected.models || written.options != expected.options {
                report.add(path, "its models or options are not those of the journal")
            }
            if written.version != expected.version {
                let fact = "written by version \(written.version), the batch was continued by \(expected.version)"
                report.notes.append("\(path): \(fact)")
            }
        } catch {
            report.add(path, "cannot be read: \(error)")
        }
    }

    /// Reports the first line that differs.
    private func checkLines(_ path: String, expected: String, _ report: inout VerificationReport) {
        guard let bytes = read(path, &report) else { return }
        let wanted = Array(expected.utf8)
        guard bytes != wanted else { return }
        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let right = wanted.split(separator: 10, omittingEmptySubsequences: false)
        let place = zip(lines, right).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, right.count)
        func text(_ lines: [ArraySlice<UInt8>]) -> String {
            place < lines.count && !(lines[place].isEmpty && place == lines.count - 1)
                ? "\"\(String(decoding: lines[place], as: UTF8.self).prefix(200))\"" : "nothing"
        }
        report.add(path, "line \(place + 1) is \(text(lines)), according to the journal it is \(text(right))")
    }

    private func read(_ path: String, _ report: inout VerificationReport) -> [UInt8]? {
        guard FileSystem.kind(path) == .file else {
            report.add(path, "is missing")
            return nil
        }
        do {
            let bytes = try FileSystem.read(path, limit: 1 << 32)
            report.filesChecked += 1
            report.bytesChecked += bytes.count
            return bytes
        } catch {
            report.add(path, "cannot be read: \(error)")
            return nil
        }
    }
}
