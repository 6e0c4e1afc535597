import Foundation
import NocturneCore
import NocturneSystem

/// Whether `batch.json`, `statistics.csv` and `retry.txt` say what the journal says, and what the items promise is there.
struct BatchReportVerification {
    let output: OutputFolder
    let journal: Journal
    let inspection: any ResultInspection

    func check(_ items: [JournalItem], promised: Set<String>, _ report: inout VerificationReport) throws {
        guard try journal.isAccounted() else {
            report.add(output.account, "is older than the journal: a run was cut off; `nocturne resume` writes it anew")
            return
        }
        try checkBatch(items, &report)
        let account = BatchReport(output: output, journal: journal, description: try description())
        checkLines(output.statistics, expected: try account.statistics(items), &report)
        checkLines(output.retryList, expected: account.retryList(items), &report)
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

    private func description() throws -> BatchDescription {
        guard let text = try journal.setting("description") else {
            throw BatchError(.notABatch, path: output.path, detail: "the journal does not say what the batch is")
        }
        return try JSONDecoder().decode(BatchDescription.self, from: Data(text.utf8))
    }

    private func checkBatch(_ items: [JournalItem], _ report: inout VerificationReport) throws {
        let path = output.account
        guard let bytes = read(path, &report) else { return }
        do {
            if let first = try PipelineSchemas.batch.faults(in: bytes).first {
                return report.add(path, "does not fit its schema: \(first)")
            }
            let written = try JSONDecoder().decode(BatchReport.Report.self, from: Data(bytes))
            let account = BatchReport(output: output, journal: journal, description: try description())
            let expected = account.report(items)
            if written.counts != expected.counts { report.add(path, "its counts are not those of the journal") }
            if written.items.count != expected.items.count {
                report.add(path, "has \(written.items.count) items, the journal has \(expected.items.count)")
            }
            for (said, known) in zip(written.items, expected.items) where said != known {
                report.add(path, "says of \(said.item): \(said.words); the journal of \(known.item): \(known.words)")
            }
            if written.models != expected.models || written.options != expected.options
                || written.version != expected.version
            {
                report.add(path, "its models, options or version are not those of the journal")
            }
        } catch {
            report.add(path, "cannot be read: \(error)")
        }
    }

    /// The first line that differs says enough.
    private func checkLines(_ path: String, expected: String, _ report: inout VerificationReport) {
        guard let bytes = read(path, &report) else { return }
        let wanted = Array(expected.utf8)
        guard bytes != wanted else { return }
        let lines = bytes.split(separator: 10, omittingEmptySubsequences: false)
        let right = wanted.split(separator: 10, omittingEmptySubsequences: false)
        let place = zip(lines, right).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, right.count)
        func words(_ lines: [ArraySlice<UInt8>]) -> String {
            place < lines.count && !(lines[place].isEmpty && place == lines.count - 1)
                ? "\"\(String(decoding: lines[place], as: UTF8.self).prefix(200))\"" : "nothing"
        }
        report.add(path, "line \(place + 1) is \(words(lines)), by the journal it is \(words(right))")
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
