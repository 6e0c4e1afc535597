import ArgumentParser
import NocturneBatch
import NocturneRecipes
import NocturneSystem

struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what a run would do: items, memory, tiles, time, and why inputs are set aside."
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        try await Plan.show(try batch.description(version: Nocturne.version), resources: resources, json: json)
    }

    /// Prints what a run would do.
    /// - Throws: ``NocturneExit/nothingMatched`` when there is nothing to do.
    static func show(_ description: BatchDescription, resources: ResourceArguments, json: Bool) async throws {
        let report = try await PlanReport(
            description,
            threads: resources.width(),
            memoryBytes: resources.memoryBytes()
        )
        if json { try Terminal.printJSON(report) } else { Terminal.printResult(text(report)) }
        if report.isEmpty { throw NocturneExit.nothingMatched }
    }

    private static func remark(_ item: PlanReport.Item) -> String {
        if !item.fits { return "does not fit into the memory budget" }
        return item.lean ? "lean: sums in a file, no other items in parallel" : ""
    }

    private static func text(_ report: PlanReport) -> String {
        var rows = [["item", "peak memory", "tiles", "inference", "remark"]]
        for item in report.items {
            rows.append([
                item.item, item.peakBytes.map { "\(ByteCount($0))" } ?? "-", item.tiles.map(String.init) ?? "-",
                item.seconds.map(EventText.duration) ?? "-",
                item.problem ?? remark(item),
            ])
        }
        let summary =
            "Engine and model take \(ByteCount(report.engineBytes)) of a budget of \(ByteCount(report.budgetBytes)); "
            + "inference about \(EventText.duration(report.seconds)). Nothing was run."
        return ([Terminal.table(rows)] + report.notes + [summary]).joined(separator: "\n")
    }
}
