public import NocturneBatch
public import NocturneJournal
public import NocturneSystem

/// A batch that is divided into shards, read as a whole.
public struct DividedBatch: Sendable {
    /// How a shard stands.
    public struct Shard: Sendable {
        public enum State: String, Sendable, Codable {
            /// No run has worked on it.
            case waiting
            case running
            /// A run has ended before all items were done.
            case stopped
            case finished
        }

        public let plan: ShardPlan.Shard
        public let state: State
        public let counts: BatchCounts
        /// The host of the run that is active; nil where none is, or it does not say.
        public let host: String?
        /// What the active run does; nil where none is, or it has not said so yet.
        public let progress: RunProgress?
        /// How often Slurm has started a task for it.
        public let starts: TaskStarts

        /// Whether items wait in it.
        public var isOpen: Bool { state != .finished }
    }

    public let output: OutputFolder
    public let plan: ShardPlan
    public let shards: [Shard]
    /// All items of the batch as they stand, in the order of discovery.
    public let items: FileBackedList<JournalItem>
    /// Of completed items, by the ids of ``items``.
    public let parts: [Int64: [ItemPart]]

    /// Reads the journals of all shards.
    /// - Returns: nil for a batch that is not divided.
    /// - Throws: ``BatchError`` for a folder without a batch; `JournalError`.
    public static func read(_ output: OutputFolder) async throws -> DividedBatch? {
        guard let plan = try await output.shardPlan() else { return nil }
        return try await DividedBatch(output, plan)
    }

    private init(_ output: OutputFolder, _ plan: ShardPlan) async throws {
        self.output = output
        self.plan = plan
        let known = KnownItems(try await output.reading { try await $0.items() })
        var items = known.all
        var parts = try await output.reading { try await $0.parts() }
        var shards: [Shard] = []
        for shard in plan.shards {
            let folder = output.shard(shard.number)
            let lock = BatchLock.state(of: folder)
            let (own, ownParts) = try await folder.reading { (try await $0.items(), try await $0.parts()) }
            for var item in own {
                guard let place = known.place(of: item.key) else { continue }
                parts[items[place].id] = ownParts[item.id]
                item.id = items[place].id
                items[place] = item
            }
            let counts = BatchCounts(of: own)
            let isUntouched = FileSystem.kind(folder.lock) == .nothing
            let state: Shard.State =
                lock.isHeld ? .running : counts.notReached == 0 ? .finished : isUntouched ? .waiting : .stopped
            shards.append(
                Shard(
                    plan: shard,
                    state: state,
                    counts: counts,
                    host: lock.holder?.process.host,
                    progress: folder.runProgress(of: lock.holder),
                    starts: TaskStarts.recorded(for: folder)
                )
            )
        }
        (self.items, self.parts, self.shards) = (items, parts, shards)
    }

    /// The shards in which items wait.
    public var open: [Shard] { shards.filter(\.isOpen) }
}
