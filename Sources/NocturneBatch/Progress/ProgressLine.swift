import Foundation
import NocturneOutput
import NocturneSystem

/// The line under the others that shows how far a run is, for a terminal of a given width: a pure function.
package enum ProgressLine {
    /// Narrower terminals wrap it.
    static let leastColumns = 24
    private static let bars = 8...24

    /// Counts come first, then the time that is left, the item at work, and a bar in what is left of the line. Wide terminals
    /// also have the throughput and the memory; where memory is short, all of them show it.
    /// - Parameters:
    ///   - columns: of the terminal. The last one stays free, since some terminals wrap after it.
    ///   - namesItem: false where ``ItemLines`` show the items.
    package static func text(_ status: ProgressStatus, columns: Int, namesItem: Bool = true) -> String {
        let space = max(columns, leastColumns) - 1
        var text = "\(status.done)/\(status.total)"
        if status.failed > 0 { text += ", \(status.failed) failed" }
        func add(_ part: String) { if text.count + part.count + 2 <= space { text += ", " + part } }
        if let pause = status.pause { add("paused \(pause)") }
        if let eta = status.etaSeconds { add("about \(EventText.duration(eta)) left") }
        if let memory = status.memory, memory.pressure != "normal" { add("memory is short") }
        if let elapsed = status.elapsedSeconds, columns >= 80 { add("\(EventText.duration(elapsed)) so far") }
        if columns >= 110 {
            if let rate = rate(status) { add(rate) }
            if let memory = status.memory, let resident = memory.residentBytes {
                add("\(ByteCount(resident)) of \(ByteCount(memory.budgetBytes))")
            }
        }
        if namesItem, let item = itemAtWork(status) {
            let share = " \(Int(item.share * 100)) %"
            // A bar of some width is worth more than the end of a long name.
            let longest = space - text.count - share.count - 2 - (bars.lowerBound + 1)
            if longest >= 6 { text += "  " + shortened(EventText.printable(item.item), to: longest) + share }
        }
        let width = min(bars.upperBound, space - text.count - 1)
        guard width >= bars.lowerBound else { return String(text.prefix(space)) }
        return bar(share(of: status), width: width) + " " + text
    }

    /// Items that have ended by the time since the run began; nil before the first.
    private static func rate(_ status: ProgressStatus) -> String? {
        guard let seconds = status.elapsedSeconds, seconds > 0, status.ended > 0 else { return nil }
        let perSecond = Double(status.ended) / seconds
        let units = [(1.0, "s"), (60.0, "min"), (3600.0, "h")]
        let (factor, unit) = units.first { perSecond * $0.0 >= 1 } ?? units[2]
        let count = perSecond * factor
        return (count < 10 ? "\((count * 10).rounded() / 10)" : "\(Int(count.rounded()))") + " items/\(unit)"
    }

    /// Of all items, with the finished share of those at work.
    private static func share(of status: ProgressStatus) -> Double {
        guard status.total > 0 else { return 0 }
        let active = status.running.reduce(0.0) { $0 + $1.share }
        return min(1, (Double(status.done) + active) / Double(status.total))
    }

    /// Items are loaded ahead and written behind: the one at work is the one whose tiles are computed.
    private static func itemAtWork(_ status: ProgressStatus) -> RunProgress.Item? {
        status.running.first { $0.stage == .infer && !$0.isWaiting } ?? status.running.first
    }

    static func bar(_ share: Double, width: Int) -> String {
        let filled = Int(share * Double(width))
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }

    /// Without its middle, where it is longer: names differ at their ends.
    package static func shortened(_ name: String, to count: Int) -> String {
        guard name.count > count else { return name }
        let end = count / 2
        return name.prefix(count - end - 1) + "…" + name.suffix(end)
    }

    /// What removes lines of these lengths from a terminal, whose width may have changed since. Row by row: where nothing
    /// stands above, tmux keeps what a clear to the end of the screen removes, and each picture would stay in its history.
    package static func erasing(_ counts: [Int], columns: Int) -> String {
        guard !counts.isEmpty else { return "" }
        let rows = counts.reduce(0) { $0 + (columns > 0 ? max($1 - 1, 0) / columns : 0) + 1 }
        return "\r\u{1B}[K" + String(repeating: "\u{1B}[A\u{1B}[K", count: rows - 1)
    }
}

/// The lines that show the items at work one by one, each with its stage and the time that it has spent in it, for a
/// terminal of a given size: a pure function.
package enum ItemLines {
    private static let most = 4
    private static let leastColumns = 60
    private static let leastRows = 10
    private static let barWidth = 10
    private static let stageWidth = "waiting".count

    /// The oldest items first; none on small terminals.
    /// - Parameters:
    ///   - columns: of the terminal. The last one stays free, since some terminals wrap after it.
    ///   - rows: of the terminal.
    package static func text(_ items: [RunProgress.Item], columns: Int, rows: Int) -> [String] {
        guard columns >= leastColumns, rows >= leastRows else { return [] }
        let shown = items.prefix(most).map { (EventText.printable($0.item), $0) }
        let space = columns - 1
        // Two fifths of the line are for the name.
        let nameWidth = min(shown.map { $0.0.count }.max() ?? 0, space * 2 / 5)
        var lines = shown.map { name, item in
            let start = "  \(padded(ProgressLine.shortened(name, to: nameWidth), to: nameWidth))"
            let stage = padded(item.state, to: stageWidth)
            let line = "\(start)  \(stage)  \(bar(item))  \(EventText.duration(item.stageSeconds))"
            guard let eta = item.etaSeconds else { return line }
            let end = ", about \(EventText.duration(eta)) left"
            return line.count + end.count <= space ? line + end : line
        }
        if items.count > most { lines.append("  and \(items.count - most) more") }
        return lines
    }

    private static func bar(_ item: RunProgress.Item) -> String {
        let percent = "\(Int(item.share * 100)) %"
        return ProgressLine.bar(item.share, width: barWidth) + String(repeating: " ", count: 6 - percent.count)
            + percent
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}
