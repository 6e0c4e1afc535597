import ArgumentParser
import Foundation
import NocturnePipeline

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say where a batch stands.")

    @Argument(help: "The batch's output folder.")
    var output: String

    @Flag(help: "As JSON.")
    var json = false

    @Flag(help: "Say it again every two seconds while a run is at work.")
    var follow = false

    @Flag(help: "List the parts of items that changed last first: a review queue.")
    var newestFirst = false

    struct Report: Encodable {
        let output: String
        @Nullable var runningProcess: Int?
        let counts: BatchCounts
        let inFlight: [String]
        let failures: [Failure]
        /// What was found on photos, each an entry of its own.
        let parts: [Part]
    }

    struct Part: Encodable {
        let item: String
        let id: Int
        let kind: String
        let state: String
        /// Below the output folder.
        @Nullable var thumbnail: String?
        @Nullable var reason: String?
    }

    struct Failure: Encodable {
        let item: String
        let state: String
        @Nullable var reason: String?
    }

    func run() async throws {
        let folder = OutputFolder(absolutePath(output))
        _ = try ExistingBatch.description(of: folder)
        while true {
            let report = try report(folder)
            if json { try Terminal.printJSON(report) } else { print(text(report, folder)) }
            guard follow, report.runningProcess != nil else { return }
            try await Task.sleep(for: .seconds(2))
        }
    }

    private func report(_ folder: OutputFolder) throws -> Report {
        let journal = try Journal(path: folder.journal)
        defer { journal.close() }
        let items = try journal.items()
        let holder = BatchLock.holder(of: folder)
        let parts = try journal.parts()
        let order = newestFirst ? items.sorted { ($0.changed ?? "") > ($1.changed ?? "") } : items
        return Report(
            output: folder.path,
            runningProcess: holder.map(Int.init),
            counts: BatchCounts(of: items),
            inFlight: holder == nil ? [] : items.filter { $0.state == .started }.map(\.name),
            failures: items.filter { [.failed, .quarantined, .cancelled].contains($0.state) }.map {
                Failure(item: $0.name, state: $0.state.rawValue, reason: $0.reason)
            },
            parts: order.flatMap { item in
                (parts[item.id] ?? []).map { part in
                    Part(
                        item: item.name,
                        id: part.id,
                        kind: part.kind,
                        state: part.state.rawValue,
                        thumbnail: part.thumbnail.map { "\(item.name)/\($0)" },
                        reason: part.reason
                    )
                }
            }
        )
    }

    private func text(_ report: Report, _ folder: OutputFolder) -> String {
        var lines = [
            report.runningProcess.map { "Process \($0) is working on it: \(report.inFlight.joined(separator: ", "))" }
                ?? "No run is at work."
        ]
        lines += report.failures.map { "\($0.state) \($0.item): \($0.reason ?? "")" }
        lines.append(AccountText.summary(report.counts, output: folder, seconds: nil))
        return lines.joined(separator: "\n")
    }
}
