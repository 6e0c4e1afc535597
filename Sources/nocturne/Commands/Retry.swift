import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneConcurrency
import NocturneJournal
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

struct Retry: EngineCommand {
    static let configuration = CommandConfiguration(
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

    @OptionGroup var sharding: ShardArguments
    @OptionGroup var resources: ResourceArguments
    @OptionGroup var profile: ProfileArguments
    @OptionGroup var show: OutputArguments
    @OptionGroup var consentArguments: ConsentArguments
    @OptionGroup var changes: ChangedOptions

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var needsEngine: Bool { sharding.shards == nil }

    var retries: RetrySelection { reviewed != nil ? .none : code.isEmpty ? .all : .codes(Set(code)) }
    var consent: ChangeConsent? {
        ChangedOptions.areGiven() ? ChangeConsent(isGiven: true, mayAsk: !consentArguments.yes) : nil
    }

    func description() async throws -> BatchDescription {
        try changes.applied(to: try await ExistingBatch.continued(folder))
    }

    func check() throws {
        try ExistingBatch.check(folder)
        if sharding.shards != nil, reviewed != nil {
            throw ValidationError("--shards and --reviewed cannot be combined.")
        }
        if reviewed != nil, !code.isEmpty { throw ValidationError("--code and --reviewed cannot be combined.") }
    }

    func run() async throws {
        if sharding.shards != nil { return try await divide() }
        // A restart of the engine continues what the first one began.
        let isFirst = ProcessHandover.toEngine?.previousEnd == nil
        if isFirst, !code.isEmpty { try await checkCodes() }
        if let reviewed, isFirst {
            let count = try await ReviewedItems(in: folder, marked: reviewed).processAgain(Nocturne.time)
            Terminal.printMessage("\(count) items with the verdict \(reviewed.rawValue) are processed again.")
        }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await description(),
                resources: resources,
                show: show,
                retries: retries,
                overwrite: true
            )
        )
    }

    /// Divides what is to be tried again, and what still waits, into new shards.
    private func divide() async throws {
        try check()
        try await folder.checkIsWhole()
        if !code.isEmpty { try await checkCodes() }
        let selection = code.isEmpty ? RetrySelection.all : .codes(Set(code))
        let items = try await ExistingBatch.contents(of: folder).items
        let ended: Set<ItemState> = [.failed, .cancelled, .quarantined]
        let wanted = Set(
            items.filter { item in
                ended.contains(item.state) ? selection.contains(item) : [.pending, .started].contains(item.state)
            }.map(\.key)
        )
        var planned = try await folder.reading { try await $0.planned(Set(ItemState.allCases)) }
        planned.removeAll { !wanted.contains($0.entry.key) }
        let entries = planned
        guard !entries.isEmpty else {
            let why =
                wanted.isEmpty
                ? "nothing is to be tried again" : "this batch was not begun with `nocturne plan --shards`"
            throw BatchError(.notAShard, path: folder.path, detail: "\(why); nothing was divided")
        }
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
            resources.limits,
            dividesCores: resources.threads == nil
        ) { recipes, scope in
            try Discovery(planned: entries, recipes: recipes.count, flag: scope.flag)
        }
        // The engine crashed twice on these, most often for memory.
        let crashed = Set(items.filter { $0.reason?.code == .engineCrashed }.map(\.key))
        var divisible = report.divisible
        for place in divisible.indices where crashed.contains(report.decisions[divisible[place].place].item.key) {
            divisible[place].bytes *= 2
        }
        guard !divisible.isEmpty else { throw NocturneExit.nothingMatched }
        let plan = try await Division(folder, description, threads: report.threads).again(
            divisible,
            of: report.decisions,
            count: sharding.count(for: divisible.map(\.seconds))
        )
        Terminal.printResult(Plan.text(plan, folder, cores: resources.width()))
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
                detail: "no item that can be tried again has the code \(code); "
                    + (known.isEmpty ? "there is none at all" : "there are \(known.joined(separator: ", "))")
            )
        }
    }
}
