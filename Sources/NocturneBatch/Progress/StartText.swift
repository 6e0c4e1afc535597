package import NocturneOutput
package import NocturneSystem

/// What a run prints before the first item: how much there is to do, and with what.
package enum StartText {
    /// - Parameters:
    ///   - counts: of the whole batch, the queue among what was not reached.
    ///   - queued: items that this run is to process.
    package static func work(_ counts: BatchCounts, queued: Int, threads: Int, memoryBytes: Int) -> String {
        let others = [
            (counts.completed, "completed"), (counts.failed, "failed"), (counts.skipped, "skipped"),
            (counts.cancelled, "cancelled"), (counts.quarantined, "quarantined"),
        ]
        let rest = others.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        let verb = queued == 1 ? "is" : "are"
        return
            "\(queued) of \(counted(counts.inputs, "input")) \(verb) to be processed\(rest.isEmpty ? "" : " (\(rest))"), "
            + "with \(counted(threads, "thread")) and \(ByteCount(memoryBytes)) of memory."
    }

    /// A line for each of the ten most frequent reasons, and one for all others.
    /// - Parameter reasons: the skipped inputs, by the text of the reason.
    package static func skips(_ reasons: [String: FirstNames]) -> [String] {
        let groups = reasons.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        var lines = groups.prefix(10).map { reason, items in
            items.count == 1 ? "\(items.text) skipped: \(reason)" : "\(items.count) skipped (\(items.text)): \(reason)"
        }
        let others = groups.dropFirst(10).reduce(0) { $0 + $1.value.count }
        if others > 0 { lines.append("\(others) skipped for other reasons: batch.json names all of them") }
        return lines
    }
}
