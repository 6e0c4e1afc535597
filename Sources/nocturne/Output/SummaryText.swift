import Foundation
import NocturneBatch
import NocturneOutput
import NocturneReport
import NocturneSystem

/// The outcome of a batch in a few lines.
enum SummaryText {
    /// - Parameter isRunning: whether a run is active; its report is not written yet.
    static func summary(
        _ counts: BatchCounts,
        output: OutputFolder,
        seconds: Double?,
        isRunning: Bool = false,
        remarks: ReportRemarks? = nil
    ) -> String {
        var parts = ["\(counts.completed) completed"]
        for (count, word) in [
            (counts.failed, "failed"), (counts.skipped, "skipped"), (counts.cancelled, "cancelled"),
            (counts.quarantined, "quarantined"), (counts.notReached, "not reached"),
        ] where count > 0 {
            parts.append("\(count) \(word)")
        }
        let time = seconds.map { " in \(EventText.duration($0))" } ?? ""
        let inputs = counts.inputs == 1 ? "1 input" : "\(counts.inputs) inputs"
        let text = "\(inputs): \(parts.joined(separator: ", "))\(time)."
        let lines = [text, remarks.flatMap(self.text)].compactMap(\.self)
        return (lines + (isRunning ? [] : files(counts, output))).joined(separator: "\n")
    }

    /// Nil where there is nothing to look at.
    private static func text(_ remarks: ReportRemarks) -> String? {
        let parts = [
            (remarks.noted, "with notes"), (remarks.unusual, "with unusual values"),
            (remarks.incomplete, "without an output that was asked for"),
            (remarks.reused, "taken from other batches"),
            (remarks.notCompared, "not compared with a reference"),
            (remarks.comparedByNumber, "compared by the numbers of labels, since the reference has no names"),
        ]
        .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if parts.isEmpty { return nil }
        return "Of the completed ones \(parts.joined(separator: ", ")): the page for review shows them."
    }

    /// The existing files of the report: a run that was killed has not written them.
    private static func files(_ counts: BatchCounts, _ output: OutputFolder) -> [String] {
        let hasFailures = counts.failed + counts.cancelled + counts.quarantined + counts.notReached > 0
        var lines: [String] = []
        if FileSystem.exists(output.report) { lines.append("Report: \(output.report)") }
        if FileSystem.exists(output.page) { lines.append("Page for review: \(output.page)") }
        if hasFailures, FileSystem.exists(output.retryList) {
            lines.append("Inputs that did not complete: \(output.retryList)")
        }
        return lines
    }
}
