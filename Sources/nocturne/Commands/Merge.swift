import ArgumentParser
import NocturneBatch
import NocturneCluster
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneReport
import NocturneSystem

struct Merge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merge the shards of a divided batch into one report.",
        discussion: """
            Can be repeated, also while shards are being processed. Once all shards are finished, the batch is whole again \
            and every command works on it. Exits with 75 and names the shards in which items wait, with 3 when some items \
            failed or lack an output that was asked for.
            """
    )

    @Argument(help: "The batch's output folder.", completion: .batch)
    var output: String

    @Flag(
        help: "End the division although items wait in shards; `nocturne resume` then processes them on this machine."
    )
    var close = false

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        let outcome = try await Merge.merge(folder, closes: close)
        // Of the merged report, which also counts the items of shards that have not begun.
        let (counts, remarks) = (outcome.report.counts, outcome.report.remarks)
        var lines = [SummaryText.summary(counts, output: folder, seconds: nil, remarks: remarks)]
        if let text = remarks.unusedRangesText { lines.append(text) }
        if let text = outcome.starts.text { lines.append("Tasks were \(text)") }
        if !outcome.open.isEmpty {
            let names = outcome.open.map { "\($0.plan.number) (\($0.state.rawValue))" }.joined(separator: ", ")
            lines.append("Items wait in \(counted(outcome.open.count, "shard")): \(names)")
            if outcome.open.contains(where: { $0.state == .lost }) {
                // Nothing else ends such a division: a shard without a journal never counts as finished.
                lines.append("The journal of a lost shard is missing or damaged: end the division with --close.")
            }
        }
        if close, counts.notReached > 0 {
            lines.append("Process what is left with: \(folder.continuation)")
        }
        try Terminal.printResult(lines.joined(separator: "\n"))
        // Items that wait are not a failure, whatever happened to the others.
        let isOpen = !outcome.open.isEmpty || counts.notReached > 0
        let code =
            isOpen
            ? NocturneExit.stoppedEarly
            : NocturneExit(counts, mode: .running, signal: nil, lacking: remarks.lacking)
        if code != .allCompleted { throw code }
    }

    /// Merges the shards and writes the report of the whole batch.
    /// - Parameter closes: ends the division although items wait.
    static func merge(_ folder: OutputFolder, closes: Bool = false) async throws -> DividedBatch.Merge.Outcome {
        let description = try await ExistingBatch.description(of: folder)
        return try await DividedBatch.Merge(try ExistingBatch.renewal(of: folder, description)).run(closes: closes)
    }
}
