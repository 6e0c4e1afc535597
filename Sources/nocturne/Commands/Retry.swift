import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSupervisor
import NocturneSystem

struct Retry: EngineCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Try failed, cancelled and quarantined items again, and finish the rest of the batch.",
        discussion: """
            With options that change results, such as --fix-tilt, the batch continues with them: results that they affect are \
            made again, and options that are not given stay as they are.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Option(help: "Instead of failed items, process completed ones with this verdict of a reviewer again.")
    var reviewed: ReviewVerdict?

    @Option(
        help: ArgumentHelp(
            "Only items whose reason has this code, or a code of this kind; can be repeated.",
            discussion: "`nocturne status` shows the codes: dicom.missingSlices, or dicom for all of its kind.",
            valueName: "code"
        )
    )
    var code: [String] = []

    @Flag(help: "Show what would be tried again, without processing or writing anything.")
    var dryRun = false

    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: ShortHelp.title) var answer: ConsentArguments
    @OptionGroup(title: ShortHelp.title) var show: OutputArguments
    @OptionGroup var changes: BatchArguments.Changes
    @OptionGroup(title: "Clusters") var sharding: ShardArguments
    @OptionGroup var process: ProcessArguments

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var needsEngine: Bool { sharding.shards == nil && !dryRun }

    var retries: RetrySelection { reviewed != nil ? .none : code.isEmpty ? .all : .codes(Set(code)) }
    var consent: ChangeConsent? {
        changes.areGiven ? ChangeConsent(isGiven: true, mayAsk: !answer.yes) : nil
    }

    func description() async throws -> BatchDescription {
        try changes.applied(to: try await ExistingBatch.continued(folder))
    }

    func check() throws {
        try folder.checkHoldsBatch()
        if sharding.shards != nil, reviewed != nil {
            throw ValidationError("--shards and --reviewed cannot be combined.")
        }
        if dryRun, sharding.shards != nil || reviewed != nil {
            throw ValidationError("--dry-run cannot be combined with --shards or --reviewed.")
        }
        if reviewed != nil, !code.isEmpty { throw ValidationError("--code and --reviewed cannot be combined.") }
    }

    func run() async throws {
        if dryRun {
            try check()
            if !code.isEmpty { try await checkCodes() }
            return try await Plan.showRemaining(folder, changes, retries, resources, json: show.json)
        }
        if sharding.shards != nil { return try await divide() }
        // A restart of the engine continues what the first one began.
        let isFirst = ProcessHandover.toEngine?.previousEnd == nil
        if isFirst, !code.isEmpty { try await checkCodes() }
        if let reviewed, isFirst {
            let count = try await ReviewedItems(in: folder, marked: reviewed).processAgain(Program.time)
            Terminal.printMessage("Processed again: \(counted(count, "item")) with the verdict \(reviewed.rawValue).")
        }
        try await processBatch { $0.isChangeConfirmed = true }
    }

    /// Divides what is to be tried again, and what still waits, into new shards.
    private func divide() async throws {
        try check()
        try await folder.checkIsWhole()
        if !code.isEmpty { try await checkCodes() }
        let selection = code.isEmpty ? RetrySelection.all : .codes(Set(code))
        let ended: Set<ItemState> = [.failed, .cancelled, .quarantined]
        let items = try await folder.reading { journal in
            var items: [JournalItem] = []
            try await journal.forEachItem { item in
                let isWanted =
                    ended.contains(item.state) ? selection.contains(item) : [.pending, .started].contains(item.state)
                if isWanted { items.append(item) }
            }
            return items
        }
        guard !items.isEmpty else {
            throw BatchError(
                .notAShard,
                path: folder.path,
                detail: "nothing is to be tried again; nothing was divided"
            )
        }
        let wanted = Set(items.map(\.key))
        let description = try await ExistingBatch.continued(folder)
        guard try changes.applied(to: description) == description else {
            throw ValidationError("A batch cannot be divided with changed options; leave out --shards, or the options.")
        }
        if let isa = sharding.isa, isa != description.instructionSet {
            throw ValidationError(
                "The batch uses \(description.instructionSet ?? "its own instruction set"); leave out --isa."
            )
        }
        let report = try await PlanReport(
            description,
            resources.machine.limits,
            dividesCores: resources.machine.threads == nil
        ) { [folder] recipes, found in
            try await folder.reading { journal in
                try await found.fill(recipes: recipes.count, flag: CancellationFlag()) { last in
                    var portion = try await journal.entries(after: last, limit: FoundTable.itemsAtOnce)
                    portion.entries.removeAll { !wanted.contains($0.item.key) || $0.item.inputs.isEmpty }
                    return portion
                }
            }
            return Discovery()
        }
        // The engine crashed twice on these, most often for memory.
        let crashed = Set(items.filter { $0.reason?.code == .engineCrashed }.map(\.key))
        let divisible = try report.divisible { crashed.contains($0) }
        guard !divisible.isEmpty else { throw NocturneExit.nothingMatched }
        let plan = try await Division(folder, description, threads: report.threads).again(
            divisible,
            in: report.items.journal,
            count: sharding.count(for: divisible.map(\.seconds))
        )
        Terminal.printResult(Plan.text(plan, folder, cores: resources.machine.width))
    }

    /// A code that no item has is probably mistyped.
    private func checkCodes() async throws {
        let ended = try await ExistingBatch.contents(of: folder).items.filter {
            [.failed, .cancelled, .quarantined].contains($0.state)
        }
        for code in code where !ended.contains(where: RetrySelection.codes([code]).contains) {
            let known = Set(ended.compactMap(\.reason?.code.rawValue)).sorted()
            throw BatchError(
                .unknownItem,
                path: folder.path,
                detail: known.isEmpty
                    ? "no item failed, was cancelled or quarantined, so there is nothing to try again"
                    : "no item that can be tried again has the code \(code). Codes: \(known.joined(separator: ", "))"
            )
        }
    }
}
