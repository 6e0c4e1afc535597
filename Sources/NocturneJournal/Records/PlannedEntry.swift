/// An item of a batch that is divided into shards: all that discovery knew of it, so that no other machine has to search the
/// inputs.
public struct PlannedEntry: Sendable, Hashable {
    public var entry: JournalEntry
    /// The source files, in the form of the module that discovers them.
    public var inputs: String

    public init(_ entry: JournalEntry, inputs: String) {
        self.entry = entry
        self.inputs = inputs
    }
}

/// How an item of a shard stands, as its journal has it, to be copied into the journal of the batch.
public struct ShardRecord: Sendable, Hashable {
    /// Identifies the item in both journals.
    public let key: String
    public let state: ItemState
    /// The columns that say how the item ended, by name; lists are JSON.
    let columns: [String: String?]
    let crashes: Int
}
