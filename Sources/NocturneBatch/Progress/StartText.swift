package import NocturneOutput
import NocturneSystem

/// What a run prints before the first item: how much there is to do, and with what.
package enum StartText {
    /// The number of skipped inputs that are shown one by one.
    package static let shownSkips = 20

    /// - Parameters:
    ///   - counts: of the whole batch, the queue among what was not reached.
    ///   - queued: items that this run is to process.
    package static func work(_ counts: BatchCounts, queued: Int, threads: Int, memoryBytes: Int) -> String {
        let others = [
            (counts.completed, "completed"), (counts.failed, "failed"), (counts.skipped, "skipped"),
            (counts.cancelled, "cancelled"), (counts.quarantined, "quarantined"),
        ]
        let rest = others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let inputs = counts.inputs == 1 ? "1 input" : "\(counts.inputs) inputs"
        let verb = queued == 1 ? "is" : "are"
        return "\(queued) of \(inputs) \(verb) to be processed\(rest.isEmpty ? "" : " (\(rest))"), "
            + "with \(threads) \(threads == 1 ? "thread" : "threads") and \(ByteCount(memoryBytes)) of memory."
    }

    /// The summary that is printed when most skipped inputs are not shown; nil when all are.
    /// - Parameter reasons: of all skipped inputs, in any order.
    package static func skips(_ reasons: [String: Int]) -> String? {
        let count = reasons.values.reduce(0, +)
        guard count > shownSkips else { return nil }
        let groups = reasons.map { ($0.value, $0.key) }.sorted { ($1.0, $0.1) < ($0.0, $1.1) }
        var text = groups.prefix(5).map { "\($0.0) × \($0.1)" }.joined(separator: "; ")
        let others = groups.dropFirst(5).reduce(0) { $0 + $1.0 }
        if others > 0 { text += "; \(others) for other reasons" }
        return "\(count) inputs are skipped, of which \(shownSkips) are shown here: \(text). "
            + "batch.json and events.jsonl name all of them."
    }
}
