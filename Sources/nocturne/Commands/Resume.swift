import ArgumentParser
import Foundation
import NocturneBatch
import NocturneSystem

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
        guard let description = try description(in: journal) else {
            throw BatchError(.notABatch, path: output.path, detail: "the journal does not say what the batch is")
        }
        return description
    }

    /// What an engine that died has begun for this very command: lists may have been read to their ends, and files of options
    /// may be other ones by now. Nil for the first engine.
    static func begunByThisRun(_ output: OutputFolder) throws -> BatchDescription? {
        guard let supervisor = Supervisor.ofRestartedEngine, output.holdsBatch else { return nil }
        let journal = try Journal(path: output.journal)
        defer { journal.close() }
        return try journal.setting("supervisor") == supervisor ? description(in: journal) : nil
    }

    private static func description(in journal: Journal) throws -> BatchDescription? {
        try journal.setting("description").flatMap {
            try? JSONDecoder().decode(BatchDescription.self, from: Data($0.utf8))
        }
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
