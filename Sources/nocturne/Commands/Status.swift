import ArgumentParser
import NocturneBatch
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show batch status, follow a run, or print metrics or a timeline.",
        discussion: """
            --follow exits with the code of the run; interrupting it does not interrupt the run.
            prometheus prints metrics. For node_exporter's textfile collector: write to another name in its folder, and rename.
            trace prints when each item was in which stage, for Perfetto or Chrome's trace viewer.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Option(help: "What to print. Default: text.")
    var format: Format?

    @Flag(help: "Print JSON, as --format json.")
    var json = false

    @Flag(help: "Print what the active run reports, until it ends.")
    var follow = false

    @Flag(help: "Print the status again every two seconds while a run is active.")
    var refresh = false

    @Flag(help: "List photos and detected objects: those in progress first, then those that changed last.")
    var newestFirst = false

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, json, prometheus, trace
    }

    /// What is printed: `--json` is short for `--format json`.
    private var shown: Format { format ?? (json ? .json : .text) }

    func validate() throws {
        if json, shown != .json { throw ValidationError("--json and --format \(shown.rawValue) cannot be combined.") }
        if follow, shown != .text || refresh || newestFirst {
            throw ValidationError("--follow prints text as the run reports it: leave out the other options.")
        }
        if refresh || newestFirst, [.prometheus, .trace].contains(shown) {
            throw ValidationError("--refresh and --newest-first are for text and JSON.")
        }
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        if follow { return try await FollowedRun.follow(folder) }
        // Fails for a folder without a batch before anything is printed.
        _ = try await ExistingBatch.description(of: folder)
        // The trace is made of the events alone.
        if shown == .trace { return try printTrace(of: folder) }
        while true {
            let state = try await BatchState.read(folder, newestFirst: newestFirst)
            try show(state, folder)
            guard refresh, state.isActive else { return }
            // As often as --help promises; each round reads the journal again.
            try await Program.time.sleep(for: .seconds(2))
        }
    }

    private func show(_ state: BatchState, _ folder: OutputFolder) throws {
        switch shown {
        case .json: try Terminal.printJSON(state.report)
        case .prometheus: try Terminal.printExactly(BatchMetrics(state).text)
        case .text, .trace:
            let text = state.report.text(folder, state.lock, isActive: state.isActive, listsParts: newestFirst)
            try Terminal.printResult((state.skipLines + [text]).joined(separator: "\n"))
        }
    }

    private func printTrace(of folder: OutputFolder) throws {
        do {
            // Written in portions as the events are read: the trace of a large batch need not fit into memory.
            try folder.writeTrace { try Terminal.printExactly($0) }
        } catch let error as FileSystemError where error.operation != FileSystemError.Operation.write.rawValue {
            throw BatchError(
                .inputMissing,
                path: error.path,
                detail: "the trace is made of this file, which cannot be read: \(errnoText(error.code))"
            )
        }
    }
}
