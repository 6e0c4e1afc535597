import NocturneBatch
import NocturneOutput
import NocturneRecipes
import NocturneSystem

/// The text of a plan.
struct PlanText {
    private let report: PlanReport
    private let inputs: Set<String>
    /// Of the terminal; nil where lines may have any length.
    private let columns = Terminal.columns

    init(report: PlanReport) { (self.report, inputs) = (report, Set(report.inputs)) }

    /// Calls `body` with each line. The items are read twice, since a million of them do not fit into memory as text.
    /// - Throws: `JournalError`; what `body` throws.
    func forEachLine(_ body: (String) throws -> Void) throws {
        // The first reading finds the widths of the columns, the second one prints.
        var (count, widths): (Int, [Int]) = (0, [])
        try forEachRow { row in
            count += 1
            widths = Terminal.widths(of: row, atLeast: widths)
        }
        // The head is printed with items only: without any, only notes and the summary follow.
        if count > 1 {
            try forEachRow { row in
                let line = Terminal.line(row, widths)
                guard let columns, line.count > columns, let remark = row.last, !remark.isEmpty else {
                    return try body(line)
                }
                try body(Terminal.line(row.dropLast() + [""], widths))
                try body(Terminal.wrapped("    " + remark, columns: columns, indent: "    "))
            }
        }
        for note in report.notes { try body(Terminal.wrapped(note, columns: columns, indent: "  ")) }
        try body(Terminal.wrapped(try summary(), columns: columns))
    }

    /// Of the table, the head first.
    private func forEachRow(_ body: ([String]) throws -> Void) throws {
        guard report.batch != nil else {
            try body(["item", "source", "peak memory", "tiles", "inference", "remark"])
            return try report.items.forEach { item in try body(names(of: item) + facts(of: item)) }
        }
        try body(["item", "source", "state", "peak memory", "tiles", "time", "remark"])
        try report.items.forEach { item in
            // What has its result, or was set aside, is only counted.
            guard ![.completed, .skipped].contains(item.state) else { return }
            try body(names(of: item) + [item.state.rawValue] + facts(of: item))
        }
    }

    /// The item, and the path from the input on, whose parts are what `--name` numbers from 0. In a terminal, both share what the
    /// columns of numbers leave.
    private func names(of item: PlanReport.Item) -> [String] {
        let source = NamePattern.levels(of: item.source, below: inputs).joined(separator: "/")
        // Memory, tiles, time and the gaps between them take 36 columns, 46 with the state.
        let space = columns.map { max(($0 - (report.batch == nil ? 36 : 46)) / 2, 12) } ?? .max
        return [item.item, source].map { ProgressLine.shortened(EventText.oneLine($0), to: space) }
    }

    private func facts(of item: PlanReport.Item) -> [String] {
        [
            item.peakBytes.map { "\(ByteCount($0))" } ?? "-", item.tiles.map(String.init) ?? "-",
            item.seconds.map(EventText.duration) ?? "-", item.problem.map(EventText.oneLine) ?? remark(item),
        ]
    }

    /// What is unusual about an item that can be processed; empty for all others.
    private func remark(_ item: PlanReport.Item) -> String {
        if item.state == .reuse { return "taken from another batch" }
        if !item.fits { return "does not fit into the memory budget" }
        if item.state == .remake, report.batch == nil { return "made without inference" }
        return item.lean ? "lean: large buffers in files, no other items in parallel" : ""
    }

    /// The last lines: what is left to be done, and what it takes.
    private func summary() throws -> String {
        let engine =
            "Engine and model take \(ByteCount(report.engineBytes)) of a budget of \(ByteCount(report.budgetBytes))"
        guard let batch = report.batch else {
            let (count, reused) = (report.items.count, report.items.reusedCount)
            guard count > 0 else {
                return "No input was found. Check the path, and the patterns of --include and --exclude."
            }
            let withInference = report.items.goodCount - reused - report.items.remadeCount
            let taken = reused == 0 ? "" : "Of \(counted(count, "item")): \(reused) to be taken from other batches.\n"
            let time = EventText.duration(report.seconds)
            let (totals, hasWork) = try self.totals()
            // Results of other batches, and those made from their label maps, take no inference. Left out is a rate below one item in
            // 8 hours, which would be printed as 0, and one above an item a second, where inference is not what takes the time.
            let rate = report.seconds > 0 ? Double(withInference) * 8 * 3600 / report.seconds : 0
            let isKnown = hasWork && (1...28_800).contains(rate)
            let shift = isKnown ? ", so about \(Int(rate)) such items in 8 hours" : ""
            return "\(totals)\n\(taken)\(engine); inference about \(time)\(shift). Nothing was run."
        }
        var lines = batch.changes.isEmpty ? [] : [Self.changes(batch)]
        if batch.withdrawn > 0 { lines.append(Self.withdrawn(batch.withdrawn)) }
        lines += Self.losses(batch)
        let counts = Self.counts.compactMap { state, text in
            batch.count(state) > 0 ? "\(batch.count(state)) \(text)" : nil
        }
        if !counts.isEmpty {
            let count = batch.counts.values.reduce(0, +)
            lines.append("Of \(counted(count, "item")): \(counts.joined(separator: ", ")).")
        }
        if batch.vanished > 0 {
            lines.append(
                "\(counted(batch.vanished, "item")) of the batch without a result \(batch.vanished == 1 ? "is" : "are") no "
                    + "longer among the inputs."
            )
        }
        // Only these need an option to be tried again.
        let ended: [RemainingWork] = [.failed, .cancelled, .quarantined]
        var hasEnded = false
        try report.items.forEachGood { item in hasEnded = hasEnded || ended.contains(item.state) }
        if hasEnded {
            lines.append("Items that failed, were cancelled or quarantined are tried again with --failed.")
        }
        let isDone = RemainingWork.allCases.allSatisfy { !$0.isWork || batch.count($0) == 0 }
        lines.append(
            isDone
                ? "Nothing is left to be done. Nothing was run."
                : "\(engine); what is left takes about \(EventText.duration(report.seconds)). Nothing was run."
        )
        return lines.joined(separator: "\n")
    }

    /// "6 to process, 8 not processed.", and whether anything is to be processed.
    private func totals() throws -> (text: String, hasWork: Bool) {
        var counts = [("to process", 0), ("too large for the memory budget", 0), ("not processed", 0)]
        try report.items.forEach { item in counts[item.problem != nil ? 2 : item.fits ? 0 : 1].1 += 1 }
        let shown = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
        return (shown.joined(separator: ", ") + ".", counts[0].1 > 0)
    }

    /// What the plan changes in the batch, as one line.
    static func changes(_ batch: PlanReport.Batch) -> String {
        "Changed since the batch was started: \(batch.changes.all.joined(separator: "; "))."
    }

    /// That results leave the batch.
    static func withdrawn(_ count: Int) -> String {
        "\(counted(count, "result")) \(count == 1 ? "leaves" : "leave") the tables, since the input or the model is no longer given or "
            + "other items are made of the files. The files of the results stay in their folders."
    }

    /// What people have done and the batch loses.
    static func losses(_ batch: PlanReport.Batch) -> [String] {
        let (edits, texts) = (batch.lostEdits, batch.lostTexts)
        return [
            edits.isEmpty
                ? nil : "Labels that people have edited are replaced by the model's: \(listed(edits, most: 5)).",
            texts.isEmpty
                ? nil
                : "Imported titles of objects are lost unless the new result is equal: \(listed(texts, most: 5)). "
                    + "`nocturne review titles` prints them as a table, which can be imported again.",
        ].compactMap(\.self)
    }

    private static let counts: [(RemainingWork, String)] = [
        (.completed, "completed"), (.pending, "to be processed"), (.repeat, "to be processed again"),
        (.remake, "to be made again without inference"), (.reuse, "to be taken from other batches"),
        (.retry, "to be tried again"),
        (.failed, "failed"), (.cancelled, "cancelled"), (.quarantined, "quarantined"), (.skipped, "skipped"),
    ]
}
