import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes

struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show the volumes and photos in files and folders, their geometry, and why other files were rejected."
    )

    @Argument(help: "Files and folders.", completion: .file())
    var inputs: [String]

    @Flag(help: "Show only how many inputs of each kind there are, and how many are refused for which reason.")
    var summary = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup(title: VolumeInputOptions.title) var reading: SectionArguments<VolumeInputOptions>

    func run() async throws {
        let request = DiscoveryRequest(inputs: inputs.map(absolutePath))
        // Reading many files takes a while. The count overwrites its line, which only a terminal shows as intended.
        let count = Terminal.isInteractive ? TerminalCounter("files", time: Program.time) : nil
        let report = try await ComputeScope.withPool(of: CoreAllowance.count()) { scope in
            try InputInspection(
                scope: scope,
                options: try VolumeInputOptions(given: reading.given),
                progress: { done, all in count?.show(done, of: all) }
            ).run(request)
        }
        // Before the report, which may go to the same terminal.
        count?.clear()
        if json {
            try Terminal.printJSON(report)
        } else {
            for note in report.notes { try Terminal.printResult(note) }
            if !summary { for entry in report.entries { try Terminal.printResult(text(entry)) } }
            for line in report.summary.lines { try Terminal.printResult(line) }
        }
        if report.isEmpty { throw NocturneExit.nothingMatched }
    }

    /// One input as lines: its path, then what is known, indented by two columns.
    /// A part in brackets distinguishes several volumes in one file or folder.
    private func text(_ entry: InputInspection.Entry) -> String {
        var lines = [entry.path + (entry.part.map { " [\($0)]" } ?? "")]
        if let format = entry.format { lines.append("  \(format)" + (entry.modality.map { ", \($0)" } ?? "")) }
        if let shape = entry.shape, let spacing = entry.spacingMm, let orientation = entry.orientation {
            let sizes = shape.map(String.init).joined(separator: "×")
            // Four decimal places: headers in float32 have spacings such as 0.699999988.
            let steps = spacing.map { "\(($0 * 1e4).rounded() / 1e4)" }.joined(separator: "×")
            lines.append("  \(sizes) voxels of \(steps) mm, \(orientation)")
        }
        for detail in entry.details + entry.notes { lines.append("  \(detail)") }
        if let problem = entry.problem { lines.append("  not usable: \(problem)") }
        return lines.map(EventText.oneLine).joined(separator: "\n")
    }
}
