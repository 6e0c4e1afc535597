import ArgumentParser
import Foundation
import NocturneConcurrency
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem

struct Compare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Compare two batches over the same inputs, such as those of two versions of a model.",
        discussion: """
            Compares states, label maps and measures item by item, and shows how they are distributed over the batch. Items are \
            the same when their inputs are. Nothing is written but the table of --table.
            """
    )

    @Argument(help: "The output folder of the first batch.", completion: .batch)
    var first: String

    @Argument(help: "The output folder of the second batch.", completion: .batch)
    var second: String

    @Option(
        help: ArgumentHelp("Write every value to this file as comma-separated values.", valueName: "file"),
        completion: .file()
    )
    var table: String?

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var compute: ThreadArguments

    func run() async throws {
        let folders = (OutputFolder(absolutePath(first)), OutputFolder(absolutePath(second)))
        let comparison = BatchComparison(
            try await BatchContents.read(folders.0),
            try await BatchContents.read(folders.1)
        )
        let changed = try await ChangedSources.names(of: comparison.pairs, folders.0, folders.1)
        let report = try await ComputeScope.withPool(of: compute.width) { scope in
            try ComparisonReport(comparison, changedSources: changed, scope: scope)
        }
        if let table { try WrittenFile.write(table: report.table, to: absolutePath(table)) }
        // After the table, so that a table that cannot be written is an error without a report.
        if json { try Terminal.printJSON(report) } else { try Terminal.printResult(report.text) }
        // Nothing in common is most often a wrong folder: it is not a comparison without differences.
        if report.items == 0 { throw NocturneExit.nothingMatched }
    }
}
