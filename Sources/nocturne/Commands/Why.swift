import ArgumentParser
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes

struct Why: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Explain the state of an item, or why a file is not an item.",
        discussion: """
            Shows what an item waits for, its attempts with reasons and next steps, what its result was made of and took, and what \
            the next run does about it.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Argument(help: "The name of an item, or the path of an input.", completion: .file())
    var item: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = try await WhyReport.read(OutputFolder(absolutePath(output)), item)
        if json {
            try Terminal.printJSON(report)
        } else {
            try Terminal.printResult(report.text)
        }
        if report.items.isEmpty { throw NocturneExit.nothingMatched }
    }
}
