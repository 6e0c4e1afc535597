import ArgumentParser
import CPosix
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem

struct Plan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Show what a run would do: items, memory, tiles, time, and why inputs are set aside.",
        discussion: """
            With --output and --shards, begins a batch that is divided into shards for several machines: process each with \
            `nocturne run OUT --shard K/N`, or have a cluster do it with `nocturne submit OUT`.
            """
    )

    @OptionGroup var batch: BatchArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: "Clusters") var sharding: ShardArguments
    @OptionGroup var process: ProcessArguments

    @Option(name: [.short, .long], help: "Begin a divided batch in this folder, without processing anything.")
    var output: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard (output == nil) == (sharding.shards == nil) else {
            throw ValidationError("--output and --shards belong together: they begin a divided batch.")
        }
        guard let output else { return }
        if output.isEmpty { throw ValidationError("--output is empty: name a folder.") }
        try resources.checkFitDivision()
    }

    func run() async throws {
        if let output { return try await divide(OutputFolder(absolutePath(output))) }
        let description = try batch.description(version: Program.version, report: Terminal.printMessage)
        try await Plan.show(description, resources: resources, json: json)
    }

    /// Prints what a run would do.
    /// - Parameter existing: the output folder; nil for a plan without one.
    /// - Throws: ``NocturneExit/nothingMatched`` when there is nothing to do, nor was.
    static func show(
        _ description: BatchDescription,
        resources: ResourceArguments,
        existing: PlanReport.Existing? = nil,
        json: Bool
    ) async throws {
        let report = try await PlanReport(
            description,
            resources.machine.limits,
            existing: existing,
            reuse: resources.attachments.reusedBatches
        )
        if json {
            try Terminal.printJSON(report)
        } else {
            try PlanText(report: report).forEachLine(Terminal.printResult)
        }
        if report.isEmpty { throw NocturneExit.nothingMatched }
    }

    /// Begins a divided batch and writes its first report, in which all items wait.
    private func divide(_ folder: OutputFolder) async throws {
        let (plan, notes) = try await divided(folder)
        // The search and the division of a million items leave tens of megabytes of free blocks.
        cposix_trim_heap()
        _ = try await Merge.merge(folder)
        if json { return try Terminal.printJSON(plan) }
        let text = Plan.text(plan, folder, cores: resources.machine.width)
        try Terminal.printResult((notes + [text]).joined(separator: "\n"))
    }

    /// Finds the items and divides them. What is known of a million items is not kept longer.
    /// - Returns: the plan, and the notes of the search.
    private func divided(_ folder: OutputFolder) async throws -> (plan: ShardPlan, notes: [String]) {
        try folder.checkHoldsNoBatch()
        try folder.checkReportsAreOwn()
        let ranges = try resources.attachments.referenceRanges()
        var description = try batch.description(version: Program.version, report: Terminal.printMessage)
        description.instructionSet = try sharding.instructionSet(for: batch.precision)
        let report = try await PlanReport(
            description,
            resources.machine.limits,
            existing: PlanReport.Existing(try await PlannedBatch.read(folder)),
            // With --threads the user has decided; otherwise a task gets as many as its networks use well.
            dividesCores: resources.machine.threads == nil
        )
        if report.isEmpty {
            // To standard error: standard output has the plan of a division only, which there is none of.
            try PlanText(report: report).forEachLine(Terminal.printMessage)
            throw NocturneExit.nothingMatched
        }
        // Items that are set aside or refused are in no shard.
        let count = sharding.count(for: try report.chooseDivisible())
        if let ranges { try await report.items.journal.set(.referenceRanges, to: ranges) }
        let plan = try await Division(folder, description, threads: report.threads)
            .begin(in: report.items.journal, count: count)
        return (plan, report.notes)
    }

    /// Why a task does not use all cores.
    private static func processesText(threads: Int, cores: Int) -> String {
        "A task uses \(threads) of the \(cores) cores of a machine like this one: with more, its networks would wait for single "
            + "threads more than 10 % of the time. Run \(cores / threads) tasks on a machine; --threads uses another number."
    }

    /// What a user does next.
    /// - Parameter cores: of this machine.
    static func text(_ plan: ShardPlan, _ folder: OutputFolder, cores: Int) -> String {
        let count = plan.shards.count
        let items = plan.shards.reduce(0) { $0 + $1.items }
        let longest = plan.shards.map(\.seconds).max() ?? 0
        let bytes = plan.shards.map(\.bytes).max() ?? 0
        return """
            \(folder.path): \(counted(items, "item")) in \(counted(count, "shard")); the longest takes about \(EventText.duration(longest)) with \
            \(counted(plan.threads, "thread")), and at most \(ByteCount(bytes)) of memory\
            \(plan.instructionSet.map { "; all machines use \($0)" } ?? "").
            Process them with: nocturne run \(folder.argument) --shard 1/\(count) and so on, or nocturne submit \(folder.argument)
            Afterwards: nocturne merge \(folder.argument)\
            \(plan.threads < cores ? "\n" + processesText(threads: plan.threads, cores: cores) : "")
            """
    }
}
