import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneSystem
import NocturneVolumes

struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the volumes and photos in files and folders, their geometry, and why other files are refused."
    )

    @Argument(help: "Files and folders.", completion: .file())
    var inputs: [String]

    @Flag(help: "Show only how many inputs of each kind there are, and how many are refused for which reason.")
    var summary = false

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Show tilted and unevenly spaced series as they are after resampling.")
    var fixTilt = false

    @Flag(help: "Show DICOM images computed from others as they are with --include-derived.")
    var includeDerived = false

    @Flag(help: "Show NIfTI files without q-form and s-form as they are with --assume-orientation.")
    var assumeOrientation = false

    func run() async throws {
        let pool = try ComputePool(width: CoreAllowance.count())
        defer { pool.shutdown() }
        let request = DiscoveryRequest(inputs: inputs.map(absolutePath))
        let report = try await pool.run {
            try InputInspection(
                scope: ComputeScope(pool: pool, flag: CancellationFlag()),
                options: SegmentationOptions(
                    fixesTilt: fixTilt,
                    includesDerived: includeDerived,
                    assumesOrientation: assumeOrientation
                ),
                progress: ScanProgress.view
            ).run(request)
        }
        ScanProgress.clear()
        if json {
            try Terminal.printJSON(report)
        } else {
            for note in report.notes { Terminal.printResult(note) }
            if !summary { for entry in report.entries { Terminal.printResult(text(entry)) } }
            for line in report.summary.lines { Terminal.printResult(line) }
        }
        if report.isEmpty { throw NocturneExit.nothingMatched }
    }

    private func text(_ entry: InputInspection.Entry) -> String {
        var lines = [entry.path + (entry.part.map { " [\($0)]" } ?? "")]
        if let format = entry.format { lines.append("  \(format)" + (entry.modality.map { ", \($0)" } ?? "")) }
        if let shape = entry.shape, let spacing = entry.spacingMm, let orientation = entry.orientation {
            let sizes = shape.map(String.init).joined(separator: "×")
            let steps = spacing.map { "\(($0 * 1e4).rounded() / 1e4)" }.joined(separator: "×")
            lines.append("  \(sizes) voxels of \(steps) mm, \(orientation)")
        }
        for detail in entry.details + entry.notes { lines.append("  \(detail)") }
        if let problem = entry.problem { lines.append("  not usable: \(problem)") }
        return lines.joined(separator: "\n")
    }
}

/// One line on the terminal that counts the scanned files; nothing if standard error is not a terminal.
private enum ScanProgress {
    private static let isShown = isatty(2) == 1 && (ProcessInfo.processInfo.environment["TERM"] ?? "dumb") != "dumb"

    static var view: (@Sendable (_ done: Int, _ all: Int) -> Void)? {
        guard isShown else { return nil }
        return { done, all in
            // Fewer files are scanned before anybody could read the line.
            if all >= 1000, done % 500 == 0 || done == all { write("\r\(done) of \(all) files") }
        }
    }

    static func clear() {
        if isShown { write("\r\u{1B}[K") }
    }

    private static func write(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }
}
