import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSupervisor
import NocturneSystem

struct Resume: EngineCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue a batch that was stopped or killed, and try failed items again where asked to.",
        discussion: """
            Items without a result are processed. --failed, --code and --reviewed add items that have ended.
            With options that change results, such as --pictures, the batch continues with them: results that they affect are \
            made again, and options that are not given stay as they are.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: ShortHelp.title) var attempts: AttemptArguments
    @OptionGroup(title: ShortHelp.title) var ended: EndedArguments
    @OptionGroup(title: ShortHelp.title) var answer: ConsentArguments
    @OptionGroup(title: ShortHelp.title) var show: OutputArguments
    @OptionGroup var changes: BatchArguments.Changes
    @OptionGroup(title: "Clusters") var sharding: ShardArguments
    @OptionGroup var process: ProcessArguments

    /// Which of the items that have ended are processed again.
    struct EndedArguments: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "As --failed, but only items whose reason has this code, or a code of this kind. Repeatable.",
                discussion: "`nocturne status` shows the codes: dicom.missingSlices, or dicom for all of its kind.",
                valueName: "code"
            )
        )
        var code: [String] = []

        @Option(help: "Process completed items with this verdict of a reviewer again.")
        var reviewed: ReviewVerdict?
    }

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }
    var needsEngine: Bool { sharding.shards == nil && !attempts.dryRun }

    /// `--code` alone is enough: it implies `--failed` for the items that have such a code.
    var retries: RetrySelection { ended.code.isEmpty ? attempts.retries : .codes(Set(ended.code)) }
    var consent: ChangeConsent? {
        // To name options is to confirm them; only results that take long, and lost work of people, are asked about.
        changes.areGiven ? ChangeConsent(isGiven: true, mayAsk: !answer.yes) : nil
    }

    func validate() throws {
        if sharding.shards != nil { try resources.checkFitDivision() }
        if sharding.shards != nil, ended.reviewed != nil {
            throw ValidationError("--shards and --reviewed cannot be combined.")
        }
        if attempts.dryRun, sharding.shards != nil {
            throw ValidationError("--dry-run and --shards cannot be combined.")
        }
        if attempts.dryRun, let verdict = ended.reviewed {
            throw ValidationError(
                "--dry-run and --reviewed cannot be combined; `nocturne review \(folder.argument) --list \(verdict.rawValue)` "
                    + "lists what would be processed again."
            )
        }
    }

    func description() async throws -> BatchDescription {
        try changes.applied(to: try await ExistingBatch.continued(folder))
    }

    /// Checked by the first process, so that a wrong folder is reported without starting an engine.
    func check() throws { try folder.checkHoldsBatch() }

    func run() async throws {
        guard needsEngine else {
            try check()
            try await checkCodes()
            if sharding.shards != nil { return try await divide() }
            return try await showRemaining()
        }
        // A restart of the engine continues what the first one began.
        if ProcessHandover.toEngine?.previousEnd == nil {
            try await checkCodes()
            if let verdict = ended.reviewed {
                let count = try await ReviewedItems(in: folder, marked: verdict).processAgain(Program.time)
                Terminal.printMessage(
                    "Processed again: \(counted(count, "item")) with the verdict \(verdict.rawValue)."
                )
            }
        }
        // The options on the command line of `resume` are the confirmation, unless the work of people is lost: the first process
        // has found that out.
        try await processBatch { $0.isChangeConfirmed = !changes.areGiven || answer.yes }
    }

    /// Prints what is left to be done.
    private func showRemaining() async throws {
        let batch = try await PlannedBatch.read(folder)
        guard let description = batch.description else { throw BatchError(notDescribed: folder) }
        try await Plan.show(
            try changes.applied(to: description),
            resources: resources,
            existing: PlanReport.Existing(batch, retries: retries),
            json: show.json
        )
    }

    /// A code that no item has is probably mistyped.
    private func checkCodes() async throws {
        guard !ended.code.isEmpty else { return }
        // Only these can be tried again; a code that only completed or skipped items have would select nothing.
        let items = try await ExistingBatch.contents(of: folder).items.filter {
            [.failed, .cancelled, .quarantined].contains($0.state)
        }
        for code in ended.code where !items.contains(where: RetrySelection.codes([code]).contains) {
            // The codes that would select something, sorted: sets have no order.
            let known = Set(items.compactMap(\.reason?.code.rawValue)).sorted()
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
