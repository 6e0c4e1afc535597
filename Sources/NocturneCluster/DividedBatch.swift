public import NocturneBatch
public import NocturneJournal
public import NocturneOutput
import NocturneSystem

/// A batch that is divided into shards, read as a whole.
public struct DividedBatch: Sendable {
    /// The state of a shard.
    public struct Shard: Sendable {
        /// Where the work of a shard stands, from its journal and its lock.
        public enum State: String, Sendable, Codable {
            /// No run has worked on it.
            case waiting
            case running
            /// A run has ended before all items were done.
            case stopped
            case finished
            /// Its journal is missing or damaged: what became of its items is not known.
            case lost
        }

        /// The shard as it was planned.
        public let plan: ShardPlan.Shard
        /// Where its work stands.
        public let state: State
        /// Its items by state.
        public let counts: BatchCounts
        /// The host of the run that is active; nil where none is, or where its lock has no host.
        public let host: String?
        /// The progress of the active run; nil where none is, or before its first report.
        public let progress: RunProgress?
        /// How often Slurm has started a task for it.
        public let starts: Slurm.TaskStarts

        /// Reads the journal and the lock of a shard.
        /// - Parameters:
        ///   - plan: the shard as it was planned.
        ///   - output: the folder of the whole batch.
        /// - Throws: `JournalError` when the system does not let the journal be read; ``BatchError`` for links in the folder.
        public init(_ plan: ShardPlan.Shard, of output: OutputFolder) async throws {
            let folder = output.shard(plan.number)
            let lock = BatchLock.state(of: folder)
            self.plan = plan
            host = lock.holder?.process.host
            progress = folder.runProgress(of: lock.holder)
            starts = Slurm.TaskStarts.recorded(for: folder)
            guard let counts = try await Self.counts(in: folder), counts.inputs >= plan.items else {
                (self.counts, state) = (BatchCounts(), .lost)
                return
            }
            self.counts = counts
            let isUntouched = FileSystem.kind(folder.lock) == .nothing
            state = lock.isHeld ? .running : counts.notReached == 0 ? .finished : isUntouched ? .waiting : .stopped
        }

        /// Nil for a journal that is missing or damaged.
        private static func counts(in folder: OutputFolder) async throws -> BatchCounts? {
            guard FileSystem.kind(folder.journal) == .file else { return nil }
            do {
                return BatchCounts(try await folder.reading { try await $0.stateCounts() })
            } catch let error as JournalError where error.systemCode == nil && error.code != .newerSchema {
                return nil
            }
        }

        /// - Throws: ``BatchError`` for a shard whose journal is missing or damaged.
        public func checkIsThere(_ output: OutputFolder) throws(BatchError) {
            guard state == .lost else { return }
            throw BatchError(
                .notAShard,
                path: output.path,
                detail:
                    "the journal of shard \(plan.number) is missing or damaged. `nocturne merge --close` ends the division, "
                    + "and `nocturne resume` then processes the items of that shard again"
            )
        }
    }

    /// The folder of the whole batch.
    public let output: OutputFolder
    /// The division, as the journal of the batch has it.
    public let plan: ShardPlan
    /// All shards by number.
    public let shards: [Shard]

    /// Reads the journals of all shards.
    /// - Returns: nil for a batch that is not divided.
    /// - Throws: ``BatchError`` for a folder without a batch; `JournalError`.
    public static func read(_ output: OutputFolder) async throws -> DividedBatch? {
        guard let plan = try await output.shardPlan() else { return nil }
        var shards: [Shard] = []
        for shard in plan.shards { shards.append(try await Shard(shard, of: output)) }
        return DividedBatch(output: output, plan: plan, shards: shards)
    }

    /// All items of the batch as they stand, in the order of discovery, and the parts of completed ones, by their ids.
    /// - Throws: `JournalError`.
    public func contents() async throws -> (items: [JournalItem], parts: [Int64: [ItemPart]]) {
        var (items, parts) = try await output.reading { (try await $0.items(), try await $0.parts()) }
        let places = Dictionary(items.enumerated().map { ($1.key, $0) }) { first, _ in first }
        for shard in readable {
            let (own, ownParts) = try await output.shard(shard.plan.number).reading {
                (try await $0.items(), try await $0.parts())
            }
            for var item in own {
                guard let place = places[item.key] else { continue }
                parts[items[place].id] = ownParts[item.id]
                item.id = items[place].id
                items[place] = item
            }
        }
        return (items, parts)
    }

    /// The shards whose journals can be read.
    var readable: [Shard] { shards.filter { $0.state != .lost } }

    /// The shards in which items wait.
    public var open: [Shard] { shards.filter { $0.state != .finished } }
}
