import ArgumentParser
import Foundation
import NocturneBatch
import NocturneSystem

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Say where a batch stands.")

    @Argument(help: "The batch's output folder.")
    var output: String

    @Flag(help: "As JSON.")
    var json = false

    @Flag(help: "Say it again every two seconds while a run is at work.")
    var follow = false

    @Flag(help: "List the parts of items in flight first, then of those that changed last: a review queue.")
    var newestFirst = false

    struct Report: Encodable {
        let output: String
        @Nullable var runningProcess: Int?
        /// What the run as a whole waits for, such as room on the disk; null when it does not wait.
        @Nullable var waitingFor: String?
        let counts: BatchCounts
        let inFlight: [String]
        let failures: [Failure]
        /// What was found on photos, each an entry of its own; photos in flight and failed ones as a whole.
        let parts: [Part]
    }

    struct Part: Encodable {
        let item: String
        /// Null for a photo as a whole: what is on it is not known yet, never will be, or is nothing.
        @Nullable var id: Int?
        @Nullable var kind: String?
        /// processing, ready or failed.
        let state: String
        /// Below the output folder; null unless there is something ready.
        @Nullable var thumbnail: String?
        @Nullable var reason: String?
        /// When the item's state last changed, UTC; null while it is in flight.
        @Nullable var changed: String?
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
        let isRunning = holder != nil
        return Report(
            output: folder.path,
            runningProcess: holder.map(Int.init),
            waitingFor: BatchLock.waiting(in: folder),
            counts: BatchCounts(of: items),
            inFlight: holder == nil ? [] : items.filter { $0.state == .started }.map(\.name),
            failures: items.filter { [.failed, .quarantined, .cancelled].contains($0.state) }.map {
                Failure(item: $0.name, state: $0.state.rawValue, reason: $0.reason)
            },
            parts: queue(items, isRunning).flatMap { Status.entries(of: $0, parts[$0.id] ?? [], isRunning: isRunning) }
        )
    }

    /// In the order of discovery, or as it interests a reviewer.
    private func queue(_ items: [JournalItem], _ isRunning: Bool) -> [JournalItem] {
        guard newestFirst else { return items }
        // The beginning of work is the newest there is, and has no time of its own.
        func moment(_ item: JournalItem) -> String {
            isRunning && item.state == .started ? "\u{10FFFF}" : item.changed ?? ""
        }
        return items.sorted { (moment($0), $1.id) > (moment($1), $0.id) }
    }

    /// What a review queue shows of an item.
    private static func entries(of item: JournalItem, _ parts: [ItemPart], isRunning: Bool) -> [Part] {
        func whole(_ state: ItemPart.State) -> [Part] {
            guard item.isPhoto else { return [] }
            return [
                Part(
                    item: item.name,
                    id: nil,
                    kind: nil,
                    state: state.rawValue,
                    thumbnail: nil,
                    reason: state == .failed ? item.reason : nil,
                    changed: state == .processing ? nil : item.changed
                )
            ]
        }
        switch item.state {
        case .started: return isRunning ? whole(.processing) : []
        case .failed, .quarantined, .cancelled: return whole(.failed)
        case .pending, .skipped: return []
        case .completed:
            // A photo on which nothing was found is looked through, too.
            guard !parts.isEmpty else { return whole(.ready) }
            return parts.map { part in
                Part(
                    item: item.name,
                    id: part.id,
                    kind: part.kind,
                    state: part.state.rawValue,
                    thumbnail: part.thumbnail.map { "\(item.name)/\($0)" },
                    reason: part.reason,
                    changed: item.changed
                )
            }
        }
    }

    private func text(_ report: Report, _ folder: OutputFolder) -> String {
        var lines = [
            report.runningProcess.map { "Process \($0) is working on it: \(report.inFlight.joined(separator: ", "))" }
                ?? "No run is at work."
        ]
        lines += report.waitingFor.map { ["It waits for \($0)."] } ?? []
        lines += report.failures.map { "\($0.state) \($0.item): \($0.reason ?? "")" }
        lines.append(SummaryText.summary(report.counts, output: folder, seconds: nil))
        return lines.joined(separator: "\n")
    }
}
