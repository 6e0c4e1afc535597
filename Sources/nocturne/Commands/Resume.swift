import ArgumentParser
import NocturneBatch
import NocturneJournal
import NocturneRecipes
import NocturneSystem

struct Resume: EngineCommand {
    static let configuration = CommandConfiguration(
        abstract: "Continue a batch that was stopped or killed.",
        discussion: """
            With options that change results, such as --pictures, the batch continues with them: results that they affect are \
            made again, and options that are not given stay as they are.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var profile: ProfileArguments
    @OptionGroup var show: OutputArguments
    @OptionGroup var consentArguments: ConsentArguments
    @OptionGroup var changes: ChangedOptions

    @Flag(help: "Show what is left to be done without processing or writing anything.")
    var dryRun = false

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    var needsEngine: Bool { !dryRun }

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    var retries: RetrySelection { retryFailed ? .all : .none }
    var consent: ChangeConsent? {
        ChangedOptions.areGiven() ? ChangeConsent(isGiven: true, mayAsk: !consentArguments.yes) : nil
    }

    func description() async throws -> BatchDescription {
        try changes.applied(to: try await ExistingBatch.continued(folder))
    }

    func check() throws { try ExistingBatch.check(folder) }

    func run() async throws {
        if dryRun { return try await showRemaining() }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: folder,
                description: try await description(),
                resources: resources,
                show: show,
                retries: retries,
                overwrite: true,
                failFast: failFast
            )
        )
    }

    private func showRemaining() async throws {
        try check()
        let recorded = try await RecordedItems.read(folder)
        guard let description = recorded.description else { throw BatchError.notDescribed(folder) }
        try await Plan.show(
            try changes.applied(to: description),
            resources: resources,
            existing: PlanReport.Existing(recorded, retries: retries),
            json: show.json
        )
    }
}
