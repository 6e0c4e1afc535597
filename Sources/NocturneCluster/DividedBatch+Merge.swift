import Foundation
import NocturneJournal
import NocturneOutput
public import NocturneReport
import NocturneSystem

extension DividedBatch {
    /// Combines the results of the shards: one journal, one report, one list of events.
    ///
    /// It can be repeated, also while shards are being processed. Once all shards are finished, the batch is whole again: every
    /// command works on it as if one machine had processed it.
    public struct Merge: Sendable {
        /// What a merge has found and done.
        public struct Outcome: Sendable {
            /// The report over all items, finished or not.
            public let report: ReportRenewal.Outcome
            /// How often Slurm has started tasks for the shards.
            public let starts: Slurm.TaskStarts
            /// Shards in which items wait.
            public let open: [DividedBatch.Shard]
            /// Whether the batch is whole again.
            public let isWhole: Bool
        }

        private let renewal: ReportRenewal
        private var output: OutputFolder { renewal.output }

        /// - Parameter renewal: writes the report over all items.
        public init(_ renewal: ReportRenewal) { self.renewal = renewal }

        /// - Parameter closes: whether the division ends although items wait in shards; they wait in the batch then.
        /// - Throws: ``BatchError`` with `outputInUse` while another command changes the batch, or a run works on a shard that is to
        ///   be closed; `JournalError`; `FileSystemError`.
        public func run(closes: Bool = false) async throws -> Outcome {
            guard let batch = try await DividedBatch.read(output) else {
                // A merge that was interrupted after the batch was whole again.
                if let left = FileSystem.remove(output.shards) { throw BatchError(notRemoved: left) }
                return Outcome(report: try await renewal.write(), starts: Slurm.TaskStarts(), open: [], isWhole: true)
            }
            let isWhole = closes || batch.open.isEmpty
            // A task that is started late finds the shard in use, and later no shard at all.
            let locks = isWhole ? try batch.readable.map { try BatchLock(output.shard($0.plan.number)) } : []
            defer { withExtendedLifetime(locks) {} }
            let report = try await renewal.write { [output] journal in
                for shard in batch.readable {
                    try await output.shard(shard.plan.number).reading { own in
                        try await own.forEachPart { records, _ in try await journal.merge(records) }
                        // With the fingerprints of results that were made again equal. None is imported into a divided batch.
                        try await journal.keep(try await own.marks())
                        try await journal.keep(try await own.texts())
                    }
                }
                try mergeEvents(batch)
                if isWhole { try await journal.remove(.shardPlan) }
            }
            if isWhole {
                for path in [output.shards, output.earlierEvents] {
                    if let left = FileSystem.remove(path) { throw BatchError(notRemoved: left) }
                }
            }
            let starts = batch.shards.map(\.starts).reduce(Slurm.TaskStarts(), +)
            return Outcome(report: report, starts: starts, open: isWhole ? [] : batch.open, isWhole: isWhole)
        }

        /// One list of the events of all shards by time, after those of the batch before it was divided.
        private func mergeEvents(_ batch: DividedBatch) throws {
            // Events of one moment stay in the order of the shards; times of RFC 3339 are in the order of their text.
            let events = try TemporaryRows()
            for shard in batch.shards {
                let path = output.shard(shard.plan.number).events
                guard FileSystem.exists(path) else { continue }
                var lines = try LineReader(path)
                var portion: [(key: String, bytes: [UInt8])] = []
                while let line = try lines.next() {
                    guard let time = try? JSONDecoder().decode(EventTime.self, from: Data(line)).time else { continue }
                    portion.append((time, line))
                    guard portion.count == 1000 else { continue }
                    try events.add(portion)
                    portion.removeAll(keepingCapacity: true)
                }
                try events.add(portion)
            }
            let file = try ReplacementFile(for: output.events)
            if FileSystem.exists(output.earlierEvents) {
                try FileDescriptor(reading: output.earlierEvents).forEachPiece { piece throws(FileSystemError) in
                    try file.write(Array(piece))
                    return true
                }
            }
            var text: [UInt8] = []
            try events.forEach { line in
                text += line + [UInt8(ascii: "\n")]
                guard text.count > 1 << 16 else { return }
                try file.write(text)
                text.removeAll(keepingCapacity: true)
            }
            try file.write(text)
            try file.putInPlace()
        }

        private struct EventTime: Decodable {
            let time: String
        }
    }
}
