import ArgumentParser
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes

struct Resume: EngineCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue a batch that was stopped or killed.",
        discussion: """
            With options that change results, such as --pictures, the batch continues with them: results that they affect are \
            made again, and options that are not given stay as they are.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup(title: ShortHelp.title) var attempts: AttemptArguments
    @OptionGroup(title: ShortHelp.title) var answer: ConsentArguments
    @OptionGroup(title: ShortHelp.title) var show: OutputArguments
    @OptionGroup var changes: BatchArguments.Changes
    @OptionGroup var process: ProcessArguments

    var needsEngine: Bool { !attempts.dryRun }

    var folder: OutputFolder { OutputFolder(absolutePath(output)) }

    var retries: RetrySelection { attempts.retries }
    var consent: ChangeConsent? {
        changes.areGiven ? ChangeConsent(isGiven: true, mayAsk: !answer.yes) : nil
    }

    func description() async throws -> BatchDescription {
        try changes.applied(to: try await ExistingBatch.continued(folder))
    }

    func check() throws { try folder.checkHoldsBatch() }

    func run() async throws {
        if attempts.dryRun {
            try check()
            return try await Plan.showRemaining(folder, changes, retries, resources, json: show.json)
        }
        try await processBatch { request in
            request.isChangeConfirmed = true
        }
    }
}
