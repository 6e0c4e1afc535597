/// One item as the journal has it.
public struct JournalItem: Sendable, Hashable {
    public var id: Int64
    public var key: String
    public var name: String
    public var path: String
    public var fingerprint: String
    public var state: ItemState
    public var reason: ItemReason?
    /// How often the engine crashed while this item was active.
    public var crashes: Int
    public var notes: [String]
    /// When its state last changed, UTC; nil for never.
    public var changed: String?
    /// The id of the model that processes it; empty without one, and in batches of 0.1.0.
    public var model: String
    /// Words of its paths that results do not show, since they identify the patient.
    public var words: [String]

    package init(
        id: Int64,
        key: String,
        name: String,
        path: String,
        fingerprint: String,
        state: ItemState,
        reason: ItemReason?,
        crashes: Int,
        notes: [String],
        changed: String? = nil,
        model: String = "",
        words: [String] = []
    ) {
        self.id = id
        self.key = key
        self.name = name
        self.path = path
        self.fingerprint = fingerprint
        self.state = state
        self.reason = reason
        self.crashes = crashes
        self.notes = notes
        self.changed = changed
        self.model = model
        self.words = words
    }
}

/// A row to be written by ``Journal/record(_:)``.
public struct JournalEntry: Sendable, Hashable {
    /// Identifies the source, and the model where several work on it: the same in every run.
    public var key: String
    /// The folder of the item in the output.
    public var name: String
    /// The id of the model that is to process it; empty for none.
    public var model: String
    /// What the recipe needs to find the source again, in a form of its own.
    public var source: String
    /// The input as the user knows it.
    public var path: String
    /// Hexadecimal digits.
    public var fingerprint: String
    public var state: ItemState
    public var reason: ItemReason?
    /// How often the engine crashed while this item was active.
    public var crashes: Int
    /// Words of its paths that results do not show, since they identify the patient: of letters and digits.
    public var words: [String]

    public init(
        key: String,
        name: String,
        model: String = "",
        source: String,
        path: String,
        fingerprint: String,
        state: ItemState,
        reason: ItemReason? = nil,
        crashes: Int = 0,
        words: [String] = []
    ) {
        self.key = key
        self.name = name
        self.model = model
        self.source = source
        self.path = path
        self.fingerprint = fingerprint
        self.state = state
        self.reason = reason
        self.crashes = crashes
        self.words = words
    }
}
