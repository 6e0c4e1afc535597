import NocturneSystem

/// The lines that show the items at work one by one, each with its stage, for a terminal of a given size: a pure function.
package enum ItemLines {
    private static let most = 4
    private static let leastColumns = 60
    private static let leastRows = 10
    private static let barWidth = 10
    private static let stageWidth = Stage.allCases.map(\.rawValue.count).max() ?? 0

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
            let stage = padded(item.stage.rawValue, to: stageWidth)
            let line = "\(start)  \(stage)  \(bar(item))  \(EventText.duration(item.elapsedSeconds))"
            guard let eta = item.etaSeconds else { return line }
            let end = ", about \(EventText.duration(eta)) left"
            return line.count + end.count <= space ? line + end : line
        }
        if items.count > most { lines.append("  and \(items.count - most) more") }
        return lines
    }

    /// Tiles are counted in inference only.
    private static func bar(_ item: RunProgress.Item) -> String {
        guard item.stage == .infer else { return String(repeating: " ", count: barWidth + 6) }
        let percent = "\(Int(item.share * 100)) %"
        return ProgressLine.bar(item.share, width: barWidth) + String(repeating: " ", count: 6 - percent.count)
            + percent
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }
}
