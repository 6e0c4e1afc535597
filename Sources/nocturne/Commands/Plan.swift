import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneRecipes
import NocturneSystem

struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what a run would do: items, memory, tiles, time, and why inputs are set aside."
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments

    @Flag(help: "As JSON.")
    var json = false

    func run() async throws {
        try await PlanReport(description: try batch.description(), resources: resources, json: json).print()
    }
}

/// What a run would do.
struct PlanReport {
    let description: BatchDescription
    let resources: ResourceArguments
    let json: Bool

    struct Item: Encodable {
        let item: String
        let source: String
        @Nullable var peakBytes: Int?
        @Nullable var tiles: Int?
        @Nullable var seconds: Double?
        let fits: Bool
        /// Whether it fits only by keeping big buffers in files.
        let lean: Bool
        @Nullable var problem: String?
    }

    struct Report: Encodable {
        let budgetBytes: Int
        let engineBytes: Int
        let seconds: Double
        let items: [Item]
        let notes: [String]
    }

    func print() async throws {
        let (recipes, loadedBytes) = try LoadedModels.measuredRecipes(description)
        let threads = try resources.width()
        let pool = ComputePool(width: threads)
        defer { pool.shutdown() }
        let reading = MemoryReading.take()
        let budget = try resources.memoryBytes() ?? MemoryBudget.defaultTotal(reading)
        let process = max((reading.residentBytes ?? 0) - loadedBytes, 0)
        let shared = try recipes.reduce(process) { $0 + (try $1.sharedBytes(threads: threads)) }
        let request = DiscoveryRequest(
            inputs: description.inputs,
            include: description.include,
            exclude: description.exclude
        )
        let (discovery, perStep) = try await pool.run {
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            return (
                Discovery.merged(
                    try recipes.map { try $0.discover(request, scope: scope) },
                    routes: description.routes
                ),
                try recipes.map { try $0.secondsPerStep(scope: scope) }
            )
        }
        let decisions = WorkPlanner(retryFailed: false, previousDeath: nil).preview(discovery.items)
        let items = decisions.items.map { entry -> Item in
            let problem = entry.item.problem.map { problem in
                switch problem {
                case .refused(let reason): "refused: \(reason)"
                case .setAside(let reason), .unknown(let reason): "set aside: \(reason)"
                }
            }
            guard problem == nil,
                let plan = try? recipes[entry.item.recipe]
                    .plan(source: entry.item.source, threads: threads, within: budget - shared)
            else {
                return Item(
                    item: entry.name,
                    source: entry.item.path,
                    peakBytes: nil,
                    tiles: nil,
                    seconds: nil,
                    fits: false,
                    lean: false,
                    problem: problem
                )
            }
            return Item(
                item: entry.name,
                source: entry.item.path,
                peakBytes: plan.peak(),
                tiles: plan.steps,
                seconds: Double(plan.steps) * perStep[entry.item.recipe],
                fits: plan.peak() <= budget - shared,
                lean: plan.isLean,
                problem: nil
            )
        }
        let report = Report(
            budgetBytes: budget,
            engineBytes: shared,
            seconds: items.reduce(0) { $0 + ($1.seconds ?? 0) },
            items: items,
            notes: discovery.notes + decisions.notes
        )
        if json { try Terminal.printJSON(report) } else { show(report) }
        if items.allSatisfy({ $0.problem != nil }) { throw NocturneExit.nothingMatched }
    }

    private func remark(_ item: Item) -> String {
        if !item.fits { return "does not fit into the memory budget" }
        return item.lean ? "lean: sums in a file, alone" : ""
    }

    private func show(_ report: Report) {
        var rows = [["item", "peak memory", "tiles", "inference", "remark"]]
        for item in report.items {
            rows.append([
                item.item, item.peakBytes.map { "\(ByteCount($0))" } ?? "-", item.tiles.map(String.init) ?? "-",
                item.seconds.map(EventText.duration) ?? "-",
                item.problem ?? remark(item),
            ])
        }
        Swift.print(Terminal.table(rows))
        for note in report.notes { Swift.print(note) }
        Swift.print(
            "Engine and model take \(ByteCount(report.engineBytes)) of a budget of \(ByteCount(report.budgetBytes)); "
                + "inference about \(EventText.duration(report.seconds)). Nothing was run."
        )
    }
}
