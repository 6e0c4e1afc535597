import Foundation
import NocturneInference
import NocturneOutput
import NocturneRecipes
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
        // Withdrawn items are counted as skipped, and shown separately.
        let withdrawn = remarks?.reasons?[FaultCode.vanished.rawValue] ?? 0
        for (count, word) in [
            (counts.failed, "failed"), (counts.skipped - withdrawn, "skipped"), (withdrawn, "withdrawn"),
            (counts.cancelled, "cancelled"), (counts.quarantined, "quarantined"), (counts.notReached, "not reached"),
        ] where count > 0 {
            parts.append("\(count) \(word)")
        }
        let time = seconds.map { " in \(EventText.duration($0))" } ?? ""
        let text = "\(counted(counts.inputs, "input")): \(parts.joined(separator: ", "))\(time)."
        let nothingCompared = remarks?.nothingComparedText.map { "\($0)." }
        let lines = [text, remarks.flatMap(self.text), nothingCompared].compactMap(\.self)
        let notes = remarks?.notes.map(self.notes) ?? []
        let advice = remarks?.reasons.map { self.advice($0, output) } ?? []
        return (lines + notes + (isRunning ? [] : advice + files(counts, output))).joined(separator: "\n")
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
        return "Completed items: \(parts.joined(separator: ", ")). See the review page."
    }

    /// Five kinds of notes, each with the first item that has it: first that about outputs that are missing, then the most
    /// frequent ones.
    private static func notes(_ notes: [String: ReportRemarks.Notes]) -> [String] {
        var others = notes
        let missing = others.removeValue(forKey: Note.Code.outputMissing.rawValue)
        // The most frequent first, then by code: a dictionary has another order in every process.
        let sorted = others.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map(\.value)
        return ((missing.map { [$0] } ?? []) + sorted).prefix(5).map { "  " + text($0) }
    }

    private static func text(_ kind: ReportRemarks.Notes) -> String {
        // Notes with one code may differ in their texts.
        let others = kind.count == 1 ? "" : "\(kind.count) items with similar notes, the first one "
        return "\(others)\(kind.item): \(kind.text)"
    }

    /// Which output that was asked for could not be made, of the first item that is without one; nil where none is missing.
    static func missingOutputs(_ remarks: ReportRemarks) -> String? {
        remarks.notes?[Note.Code.outputMissing.rawValue].map(text)
    }

    /// What can be done about items that did not complete: a line for each of the five most frequent codes for which there is
    /// something to do.
    static func advice(_ reasons: [String: Int], _ output: OutputFolder) -> [String] {
        let codes = reasons.keys.map { FaultCode(rawValue: $0) }.filter { code in
            // Codes of the domain run concern the run as a whole, not what can be done about an item.
            code.domain != "run" && !code.remedy.hasPrefix(FaultCode.nothingToDo)
        }
        guard !codes.isEmpty else { return [] }
        let count = { (code: FaultCode) in reasons[code.rawValue] ?? 0 }
        let sorted = codes.sorted { (count($1), $0.rawValue) < (count($0), $1.rawValue) }
        let lines = sorted.prefix(5).map {
            "  \($0.rawValue) (\(count($0))): \(remedy(for: $0, output))"
        }
        let rest =
            sorted.count > 5
            ? [
                "  and \(counted(sorted.count - 5, "more code")): `nocturne status` shows all"
            ] : []
        return ["What to do:"] + lines + rest
    }

    /// For inputs of the other kind with the models on the search path.
    private static func remedy(for code: FaultCode, _ output: OutputFolder) -> String {
        let remedy = code.remedy(in: output)
        guard [.photo, .volume].contains(code) else { return remedy }
        let packages = LoadedModels.usablePackages
        // A model may be there in several versions.
        let names = Set(packages.filter { $0.task.hasPrefix("photo-") == (code == .photo) }.map(\.id)).sorted()
        // Without the full stop of the remedy, which follows the parenthesis.
        return names.isEmpty
            ? remedy : "\(remedy.dropLast()) (installed: \(names.joined(separator: ", ")))."
    }

    /// The existing files of the report: a run that was killed has not written them.
    private static func files(_ counts: BatchCounts, _ output: OutputFolder) -> [String] {
        let hasFailures = counts.failed + counts.cancelled + counts.quarantined + counts.notReached > 0
        var lines: [String] = []
        if FileSystem.exists(output.report) { lines.append("Report: \(output.report)") }
        if FileSystem.exists(output.page) { lines.append("Review page: \(output.page)") }
        if hasFailures, FileSystem.exists(output.retryList) {
            lines.append("Inputs that did not complete: \(output.retryList)")
        }
        return lines
    }
}
