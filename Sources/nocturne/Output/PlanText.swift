import NocturneBatch
import NocturneRecipes
import NocturneSystem

/// The text of a plan.
struct PlanText {
    let report: PlanReport

    var text: String {
        let rows = report.batch == nil ? newRows : remainingRows
        let table = rows.count > 1 ? [Terminal.table(rows)] : []
        return (table + report.notes + [summary]).joined(separator: "\n")
    }

    private var newRows: [[String]] {
        [["item", "peak memory", "tiles", "inference", "remark"]]
            + report.items.map { item in
                [
                    item.item, item.peakBytes.map { "\(ByteCount($0))" } ?? "-", item.tiles.map(String.init) ?? "-",
                    item.seconds.map(EventText.duration) ?? "-", item.problem ?? remark(item),
                ]
            }
    }

    /// What has its result, or was set aside, is only counted.
    private var remainingRows: [[String]] {
        [["item", "state", "peak memory", "tiles", "time", "remark"]]
            + report.items.filter { ![.completed, .skipped].contains($0.state) }.map { item in
                [
                    item.item, item.state.rawValue, item.peakBytes.map { "\(ByteCount($0))" } ?? "-",
                    item.tiles.map(String.init) ?? "-", item.seconds.map(EventText.duration) ?? "-",
                    item.problem ?? remark(item),
                ]
            }
    }

    private func remark(_ item: PlanReport.Item) -> String {
        if !item.fits { return "does not fit into the memory budget" }
        return item.lean ? "lean: sums in a file, no other items in parallel" : ""
    }

    private var summary: String {
        let engine =
            "Engine and model take \(ByteCount(report.engineBytes)) of a budget of \(ByteCount(report.budgetBytes))"
        guard let batch = report.batch else {
            return "\(engine); inference about \(EventText.duration(report.seconds)). Nothing was run."
        }
        var lines = batch.changes.isEmpty ? [] : [Self.changes(batch)]
        lines.append(
            "Of \(report.items.count) items: "
                + Self.counts.compactMap { state, text in
                    batch.count(state) > 0 ? "\(batch.count(state)) \(text)" : nil
                }.joined(separator: ", ") + "."
        )
        if batch.vanished > 0 {
            lines.append("\(batch.vanished) items of the batch without a result are no longer among the inputs.")
        }
        let ended: [RemainingWork] = [.failed, .cancelled, .quarantined]
        if zip(report.decisions, report.items).contains(where: { $0.item.problem == nil && ended.contains($1.state) }) {
            lines.append("Items that failed, were cancelled or quarantined are tried again with --retry-failed.")
        }
        let isDone = report.items.allSatisfy { !$0.state.isWork }
        lines.append(
            isDone
                ? "Nothing is left to be done. Nothing was run."
                : "\(engine); what is left takes about \(EventText.duration(report.seconds)). Nothing was run."
        )
        return lines.joined(separator: "\n")
    }

    /// What the plan changes in the batch, as one line.
    static func changes(_ batch: PlanReport.Batch) -> String {
        "Changed since the batch was started: \(batch.changes.joined(separator: "; "))."
    }

    private static let counts: [(RemainingWork, String)] = [
        (.completed, "completed"), (.pending, "to be processed"), (.repeat, "to be processed again"),
        (.remake, "to be made again without inference"), (.retry, "to be tried again"),
        (.failed, "failed"), (.cancelled, "cancelled"), (.quarantined, "quarantined"), (.skipped, "skipped"),
    ]
}
