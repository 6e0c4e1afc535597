import Foundation
public import NocturneBatch
import NocturneJournal
import NocturneSystem

/// Brings what the shards have done together: one journal, one report, one list of events.
///
/// It can be repeated, also while shards are being processed. Once all shards are finished, the batch is whole again: every
/// command works on it as if one machine had processed it.
public struct ShardMerge: Sendable {
    public struct Outcome: Sendable {
        public let report: ReportRenewal.Outcome
        /// How often Slurm has started tasks for the shards.
        public let starts: TaskStarts
        /// Shards in which items wait.
        public let open: [DividedBatch.Shard]
        /// Whether the batch is whole again.
        public let isWhole: Bool
    }

    private let output: OutputFolder
    private let page: any BatchPage
    private let summaries: [BatchSummary]

    /// - Parameter summaries: what recipes write about all items.
    public init(_ output: OutputFolder, page: any BatchPage, summaries: [BatchSummary]) {
        self.output = output
        self.page = page
        self.summaries = summaries
    }

    /// - Parameter closes: whether the division ends although items wait in shards; they wait in the batch then.
    /// - Throws: ``BatchError`` with `outputInUse` while another command changes the batch, or a run works on a shard that is to
    ///   be closed; `JournalError`; `FileSystemError`.
    public func run(closes: Bool = false) async throws -> Outcome {
        let renewal = ReportRenewal(output, page: page, summaries: summaries)
        guard let batch = try await DividedBatch.read(output) else {
            // A merge that was interrupted after the batch was whole again.
            FileSystem.remove(output.shards)
            return Outcome(report: try await renewal.write(), starts: TaskStarts(), open: [], isWhole: true)
        }
        let isWhole = closes || batch.open.isEmpty
        // A task that is started late finds the shard in use, and later no shard at all.
        let locks = isWhole ? try batch.shards.map { try BatchLock(output.shard($0.plan.number)) } : []
        defer { withExtendedLifetime(locks) {} }
        let report = try await renewal.write { [output] journal, _ in
            for shard in batch.shards {
                let records = try await output.shard(shard.plan.number).reading { try await $0.shardRecords() }
                try await journal.merge(records)
            }
            try mergeEvents(batch)
            if isWhole { try await journal.remove(.shardPlan) }
        }
        if isWhole {
            FileSystem.remove(output.shards)
            FileSystem.remove(output.earlierEvents)
        }
        let starts = batch.shards.map(\.starts).reduce(TaskStarts(), +)
        return Outcome(report: report, starts: starts, open: isWhole ? [] : batch.open, isWhole: isWhole)
    }

    /// One list of the events of all shards by time, after those of the batch before it was divided.
    private func mergeEvents(_ batch: DividedBatch) throws {
        var lines: [(time: String, line: ArraySlice<UInt8>)] = []
        for shard in batch.shards {
            let path = output.shard(shard.plan.number).events
            guard FileSystem.exists(path) else { continue }
            for line in try FileSystem.read(path).split(separator: UInt8(ascii: "\n")) {
                guard let event = try? JSONDecoder().decode(EventTime.self, from: Data(line)) else { continue }
                lines.append((event.time, line))
            }
        }
        // Events of one moment stay in the order of the shards; times of RFC 3339 are in the order of their text.
        let sorted = lines.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        let earlier = FileSystem.exists(output.earlierEvents) ? try FileSystem.read(output.earlierEvents) : []
        try FileSystem.replace(output.events, with: earlier + sorted.flatMap { $0.element.line + [UInt8(ascii: "\n")] })
    }

    private struct EventTime: Decodable {
        let time: String
    }
}
