import ArgumentParser
import Foundation
import NocturnePipeline

struct Resume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Go on with a batch that was stopped or killed.")

    @Argument(help: "The batch's output folder.")
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    @Flag(help: "Try failed, cancelled and quarantined items again.")
    var retryFailed = false

    @Flag(help: "Stop at the first item that fails.")
    var failFast = false

    func run() async throws {
        try await ExistingBatch.goOn(
            OutputFolder(absolutePath(output)),
            resources: resources,
            show: show,
            retryFailed: retryFailed,
            failFast: failFast
        )
    }
}

struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try again what failed, was cancelled or quarantined, and do what is left."
    )

    @Argument(help: "The batch's output folder.")
    var output: String

    @OptionGroup var resources: ResourceArguments
    @OptionGroup var show: OutputArguments

    func run() async throws {
        try await ExistingBatch.goOn(
            OutputFolder(absolutePath(output)),
            resources: resources,
            show: show,
            retryFailed: true,
            failFast: false
        )
    }
}

/// A batch that is there already.
enum ExistingBatch {
    /// What the batch was begun with.
    static func description(of output: OutputFolder) throws -> BatchDescription {
        guard output.holdsBatch else {
            throw BatchError(
                .notABatch,
                path: output.path,
                detail: "holds no batch: there is no .nocturne/journal.sqlite"
            )
        }
        let journal = try Journal(path: output.journal)
        defer { journal.close() }
        guard let text = try journal.setting("description"),
            let description = try? JSONDecoder().decode(BatchDescription.self, from: Data(text.utf8))
        else { throw BatchError(.notABatch, path: output.path, detail: "the journal does not say what the batch is") }
        return description
    }

    static func goOn(
        _ output: OutputFolder,
        resources: ResourceArguments,
        show: OutputArguments,
        retryFailed: Bool,
        failFast: Bool
    ) async throws {
        try resources.check()
        let description = try description(of: output)
        guard try Supervisor.begin(on: output, detach: resources.detach) else { return }
        try await EngineProcess.run(
            EngineProcess.Request(
                output: output,
                description: description,
                resources: resources,
                show: show,
                retryFailed: retryFailed,
                failFast: failFast
            )
        )
    }
}
