import NocturneCore
public import NocturneSystem

/// How an input ended, or where it stands.
public enum ItemState: String, Sendable, Codable, CaseIterable {
    /// Waiting for its turn; at the end of a run: not reached.
    case pending
    /// In flight. Found in the journal at the start of a run, it means that the run before was cut off.
    case started
    case completed
    case failed
    /// Set aside with a reason: not an input for this model.
    case skipped
    /// Stopped by `nocturne cancel` naming it; stays so until `nocturne retry`.
    case cancelled
    /// The engine died twice with this item in flight.
    case quarantined
}

/// One unit of work, as discovery found it: a volume or photo, with one model.
public struct DiscoveredItem: Sendable {
    /// Names the source within the batch, the same in every run and for every model: what the journal knows the item by,
    /// together with the model where there are several for it.
    public var key: String
    /// The wished name of the folder; made unique by the scheduler.
    public var name: String
    /// The id of the model that is to work on it.
    public var model: String
    /// What the recipe needs to find the source again, in a form of its own.
    public var source: String
    /// The input as the user knows it: written to `retry.txt`, and to messages.
    public var path: String
    /// Source files, model and every option that can change a result.
    public var fingerprint: ContentDigest
    /// The files that the result will be made of: what changes among them later makes the item be done anew.
    public var inputs: [InputStamp]
    /// Why there is no work to do; nil for a good item.
    public var problem: ItemProblem?
    /// What the keys of pictures begin with.
    public static let photoKeyPrefix = "photo:"
    /// What the keys of folders begin with that could not be looked into.
    public static let missedKeyPrefix = "missed:"
    /// What the keys of single files begin with that are no part of anything.
    public static let fileKeyPrefix = "file:"
    /// The place of the recipe that found it among the batch's.
    package internal(set) var recipe = 0

    public init(
        key: String,
        name: String,
        model: String,
        source: String,
        path: String,
        fingerprint: ContentDigest,
        inputs: [InputStamp] = [],
        problem: ItemProblem? = nil
    ) {
        self.key = key
        self.name = name
        self.model = model
        self.source = source
        self.path = path
        self.fingerprint = fingerprint
        self.inputs = inputs
        self.problem = problem
    }
}

/// Why an item cannot be worked on, known before it is admitted.
public enum ItemProblem: Sendable, Hashable {
    /// It should have been an input, and is damaged or unfit.
    case refused(String)
    /// It is no input for this model.
    case setAside(String)
    /// It is of no kind that this recipe reads; another one may.
    case unknown(String)
}

/// What the walk over the inputs found.
public struct Discovery: Sendable {
    public var items: [DiscoveredItem]
    /// Things to say that are about no single item.
    public var notes: [String]

    public init(items: [DiscoveredItem] = [], notes: [String] = []) {
        self.items = items
        self.notes = notes
    }
}

/// A file of a committed item, relative to the item's folder.
public struct ItemFile: Sendable, Hashable, Codable {
    public var path: String
    public var bytes: Int
    public var sha256: String

    public init(path: String, bytes: Int, sha256: String) {
        self.path = path
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// A row of `statistics.csv`.
public struct Statistic: Sendable, Hashable, Codable {
    public var label: String
    public var measure: String
    /// Nil for "not measured": an empty field.
    public var value: Double?
    public var unit: String

    public init(label: String, measure: String, value: Double?, unit: String) {
        self.label = label
        self.measure = measure
        self.value = value
        self.unit = unit
    }
}

/// What a finished item leaves in the journal.
public struct ItemProduct: Sendable {
    public var files: [ItemFile]
    public var statistics: [Statistic]
    /// Things the reader of the account should know: an empty label, a note of the reader.
    public var notes: [String]
    /// What is an entry of its own in a review queue.
    public var parts: [ItemPart]

    public init(files: [ItemFile], statistics: [Statistic], notes: [String], parts: [ItemPart] = []) {
        self.files = files
        self.statistics = statistics
        self.notes = notes
        self.parts = parts
    }
}
