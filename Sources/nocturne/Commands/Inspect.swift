import ArgumentParser
import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturnePipeline
import NocturneRecipes

struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what Nocturne sees in a file or folder: volumes, geometry, and why something is refused."
    )

    @Argument(help: "Files and folders.")
    var inputs: [String]

    @Flag(help: "As JSON.")
    var json = false

    func run() async throws {
        let pool = ComputePool(width: max(1, ProcessInfo.processInfo.activeProcessorCount))
        defer { pool.shutdown() }
        let request = DiscoveryRequest(inputs: inputs.map(absolutePath))
        let report = try await pool.run {
            try InputInspection(scope: ComputeScope(pool: pool, flag: CancellationFlag())).run(request)
        }
        if json {
            try Terminal.printJSON(report)
        } else {
            for note in report.notes { print(note) }
            for entry in report.entries { print(text(entry)) }
        }
        if !report.entries.contains(where: { $0.problem == nil }) { throw NocturneExit.nothingMatched }
    }

    private func text(_ entry: InputInspection.Entry) -> String {
        var lines = [entry.path]
        if let format = entry.format { lines.append("  \(format)" + (entry.modality.map { ", \($0)" } ?? "")) }
        if let shape = entry.shape, let spacing = entry.spacingMm, let orientation = entry.orientation {
            let sizes = shape.map(String.init).joined(separator: "×")
            let steps = spacing.map { "\(($0 * 1e4).rounded() / 1e4)" }.joined(separator: "×")
            lines.append("  \(sizes) voxels of \(steps) mm, \(orientation)")
        }
        for detail in entry.details { lines.append("  \(detail)") }
        if let problem = entry.problem { lines.append("  not taken: \(problem)") }
        return lines.joined(separator: "\n")
    }
}
