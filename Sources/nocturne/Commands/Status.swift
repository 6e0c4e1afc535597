import ArgumentParser
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "status", abstract: "Show batch status.")

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Refresh every two seconds while a run is active.")
    var follow = false

    @Flag(help: "List photos and detected objects: those in progress first, then those that changed last.")
    var newestFirst = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try await ExistingBatch.description(of: folder)
        while true {
            let state = try await BatchState.read(folder, newestFirst: newestFirst)
            let report = state.report
            if json {
                try Terminal.printJSON(report)
            } else {
                let text = report.text(folder, state.lock, listsParts: newestFirst)
                Terminal.printResult((state.skipLines + [text]).joined(separator: "\n"))
            }
            guard follow, state.isActive else { return }
            try await Program.time.sleep(for: .seconds(2))
        }
    }
}

struct Prom: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prom",
        abstract: "Print batch status as metrics for Prometheus.",
        discussion: "For node_exporter's textfile collector: write to another name in its folder, and rename."
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    func run() async throws {
        let state = try await BatchState.read(OutputFolder(absolutePath(output)))
        try Terminal.printExactly(BatchMetrics(state).text)
    }
}
