import Foundation
import NocturneBatch
import NocturneSystem

/// The account in words.
enum SummaryText {
    static func summary(_ counts: BatchCounts, output: OutputFolder, seconds: Double?) -> String {
        var parts = ["\(counts.completed) completed"]
        for (count, word) in [
            (counts.failed, "failed"), (counts.skipped, "skipped"), (counts.cancelled, "cancelled"),
            (counts.quarantined, "quarantined"), (counts.notReached, "not reached"),
        ] where count > 0 {
            parts.append("\(count) \(word)")
        }
        let time = seconds.map { " in \(EventText.duration($0))" } ?? ""
        var text = "\(counts.inputs) inputs: \(parts.joined(separator: ", "))\(time).\n"
        text += "The account is \(output.account)"
        if counts.failed + counts.cancelled + counts.quarantined + counts.notReached > 0 {
            text += ", what did not complete is in \(output.retryList)"
        }
        return text
    }
}
