public import NocturneSystem

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

extension PlannedEntry: ByteRepresentable {
    public init(bytes: [UInt8]) {
        let fields = PackedFields(packed: bytes[...])
        let texts = fields[list: 0]
        entry = JournalEntry(
            key: texts[0],
            name: texts[1],
            model: texts[2],
            source: texts[3],
            path: texts[4],
            fingerprint: texts[5],
            state: ItemState(rawValue: texts[6]) ?? .pending,
            reason: ItemReason(packed: fields[list: 1]),
            crashes: Int(texts[7]) ?? 0,
            words: fields[list: 2]
        )
        inputs = texts[8]
    }

    public var bytes: [UInt8] {
        let texts = [
            entry.key, entry.name, entry.model, entry.source, entry.path, entry.fingerprint, entry.state.rawValue,
            String(entry.crashes), inputs,
        ]
        let fields = [PackedFields(list: texts), entry.reason?.packed, PackedFields(list: entry.words)]
        return Array(PackedFields(fields.map { Array($0?.packed ?? []) }).packed)
    }
}

/// How an item of a shard stands, as its journal has it, to be copied into the journal of the batch.
public struct ShardRecord: Sendable, Hashable {
    /// In the journal of the shard.
    public let id: Int64
    /// Identifies the item in both journals.
    public let key: String
    public let state: ItemState
    /// The columns that say how the item ended, by name; lists are JSON.
    let columns: [String: String?]
    let crashes: Int
}
