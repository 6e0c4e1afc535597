package import NocturneOutput
import NocturneSystem

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

    /// Skipped inputs that have one reason.
    package struct Skips {
        var count = 0
        /// The first of them.
        var items: [String] = []

        /// No input yet.
        package init() {}

        /// Counts an input, and keeps the names of the first two.
        package mutating func add(_ item: String) {
            count += 1
            if items.count < 2 { items.append(item) }
        }
    }

    /// A line for each of the ten most frequent reasons, and one for all others.
    package static func skips(_ reasons: [String: Skips]) -> [String] {
        let groups = reasons.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        var lines = groups.prefix(10).map { reason, skips in
            let rest = skips.count - skips.items.count
            let items = skips.items.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
            return skips.count == 1 ? "\(items) skipped: \(reason)" : "\(skips.count) skipped (\(items)): \(reason)"
        }
        let others = groups.dropFirst(10).reduce(0) { $0 + $1.value.count }
        if others > 0 { lines.append("\(others) skipped for other reasons: batch.json names all of them") }
        return lines
    }
}
