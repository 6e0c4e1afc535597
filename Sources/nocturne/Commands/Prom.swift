import ArgumentParser
import NocturneBatch
import NocturneRecipes

struct Prom: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
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
