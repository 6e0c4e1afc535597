public import NocturneJournal
import NocturneSystem

/// How a batch is divided into shards, each of which one machine works on. Made once, and never changed.
public struct ShardPlan: Codable, Sendable, Equatable {
    /// What one machine works on.
    public struct Shard: Codable, Sendable, Equatable {
        /// Counted from 1.
        public let number: Int
        /// The number of its items.
        public let items: Int
        /// Predicted for the threads that the plan was made for.
        public let seconds: Double
        /// Predicted peak memory of the process.
        public let bytes: Int

        /// - Parameters:
        ///   - number: counted from 1.
        ///   - items: how many items it has.
        ///   - seconds: predicted, for the threads of the plan.
        ///   - bytes: predicted peak memory of the process.
        public init(number: Int, items: Int, seconds: Double, bytes: Int) {
            self.number = number
            self.items = items
            self.seconds = seconds
            self.bytes = bytes
        }
    }

    /// In the order of their numbers.
    public let shards: [Shard]
    /// The version of Nocturne that made the plan: all shards are processed by the same one.
    public let version: String
    /// The instruction set that all machines use; nil when the engine does not have several.
    public let instructionSet: String?
    /// The number of threads that the seconds are for.
    public let threads: Int

    /// - Parameters:
    ///   - shards: in the order of their numbers.
    ///   - version: of Nocturne.
    ///   - instructionSet: that all machines use; nil when the engine does not have several.
    ///   - threads: that the seconds are for.
    public init(shards: [Shard], version: String, instructionSet: String?, threads: Int) {
        self.shards = shards
        self.version = version
        self.instructionSet = instructionSet
        self.threads = threads
    }
}

extension JournalSetting<ShardPlan> {
    /// How the batch is divided; nil for a batch that one machine works on.
    public static var shardPlan: Self { Self(json: "shards") }
}

extension OutputFolder {
    /// How the batch is divided; nil for a batch that one machine works on.
    /// - Throws: ``BatchError`` for a folder without a batch; `JournalError`.
    public func shardPlan() async throws -> ShardPlan? {
        try checkHoldsBatch()
        return try await whole.reading { try await $0.value(of: .shardPlan) }
    }

    /// - Throws: ``BatchError`` with `divided` for a batch that is divided into shards.
    public func checkIsWhole() async throws {
        guard let plan = try await shardPlan() else { return }
        throw BatchError.divided(whole, into: plan.shards.count)
    }
}

extension BatchError {
    /// For a command that needs the whole batch, where it is divided.
    package static func divided(_ output: OutputFolder, into count: Int) -> BatchError {
        BatchError(
            .divided,
            path: output.path,
            detail:
                "this batch is divided into \(counted(count, "shard")). Process them with `nocturne run \(output.argument) --shard "
                + "1/\(count)` and so on, then use `nocturne merge \(output.argument)`; with --close it ends the division before "
                + "all shards have ended"
        )
    }
}
