public import NocturneSystem

/// A file of a committed item, relative to the item's folder.
public struct ItemFile: Sendable, Hashable, Codable {
    /// Relative to the item's folder, with slashes; it never leads out of it.
    public var path: String
    /// Its size. `verify` compares it before it computes the digest.
    public var bytes: Int
    /// Hexadecimal digits.
    public var sha256: String

    /// - Parameters:
    ///   - path: relative to the item's folder.
    ///   - bytes: its size.
    ///   - sha256: 64 hexadecimal digits.
    public init(path: String, bytes: Int, sha256: String) {
        self.path = path
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// A row of `statistics.csv`.
public struct Statistic: Sendable, Hashable, Codable {
    /// The name of the label, class or region that was measured.
    public var label: String
    /// What was measured, such as `volume`.
    public var measure: String
    /// Nil for "not measured": an empty field.
    public var value: Double?
    /// Such as `ml`; empty for numbers without a unit.
    public var unit: String

    /// - Parameters:
    ///   - label: what was measured.
    ///   - measure: the name of the measure.
    ///   - value: finite; nil for "not measured".
    ///   - unit: empty for numbers without a unit.
    public init(label: String, measure: String, value: Double?, unit: String) {
        self.label = label
        self.measure = measure
        self.value = value
        self.unit = unit
    }

    /// What the labels of regions of interest begin with, to distinguish them from those of label maps.
    package static let regionPrefix = "roi:"
    /// Whether it was measured in a region of interest.
    package var isOfRegion: Bool { label.hasPrefix(Self.regionPrefix) }
}

/// A part of an item that is a separate entry in a review queue: one object on a photo.
public struct ItemPart: Sendable, Hashable, Codable {
    /// How far a part is.
    public enum State: String, Sendable, Hashable, Codable {
        /// Found; its files do not exist yet.
        case processing
        /// Its files exist; another tool is to give its texts.
        case enriching
        case ready
        /// Its files could not be written; the reason is given. The item's other parts are not affected.
        case failed
    }

    /// From 1, in the item's own order.
    public var id: Int
    /// Its class.
    public var kind: String
    /// Set by the recipe; ``with(_:)`` makes a part ready that waited for its texts.
    public var state: State
    /// Relative to the item's folder; nil unless it was written.
    public var thumbnail: String?
    /// Why it failed, for people; nil for a part that has not failed.
    public var reason: String?
    /// What a model has read on it, as ``ObjectText/recognized``, and what another tool has read, which is kept apart from the
    /// result; nil for nothing.
    public var texts: [ObjectText.Field]?

    /// - Parameters:
    ///   - id: from 1, in the item's own order.
    ///   - kind: its class.
    ///   - state: how far it is.
    ///   - thumbnail: relative to the item's folder; nil unless it was written.
    ///   - reason: why it failed.
    public init(id: Int, kind: String, state: State, thumbnail: String?, reason: String? = nil) {
        self.id = id
        self.kind = kind
        self.state = state
        self.thumbnail = thumbnail
        self.reason = reason
    }
}

/// What the journal keeps of the result of an item: its files, measures, notes and parts, each a row of a table.
public struct ItemProduct: Sendable, Hashable {
    /// The files of the item's folder, in the order in which the recipe lists them.
    public var files: [ItemFile]
    /// What was measured, in the recipe's order.
    public var statistics: [Statistic]
    /// Remarks for the reader of the report: an empty label, a remark of the file reader.
    public var notes: [Note]
    /// Separate entries in a review queue.
    public var parts: [ItemPart]
    /// How many objects of each class were found in a photo; nil for none, for other results, and from the journal.
    public var objects: [String: Int]?
    /// From where the result was taken; nil for one that was made for this batch.
    public var origin: ItemReason?

    /// What the files take on the disk.
    public var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    /// What the journal has columns for. What only a run knows (``objects``, ``origin``) is set afterwards.
    public init(
        files: [ItemFile] = [],
        statistics: [Statistic] = [],
        notes: [Note] = [],
        parts: [ItemPart] = []
    ) {
        self.files = files
        self.statistics = statistics
        self.notes = notes
        self.parts = parts
    }
}

/// An item with what the journal keeps of its result.
public struct ItemRecord: Sendable, Hashable {
    /// How the item stands now.
    public var item: JournalItem
    /// Of the result that the item had when it was last completed, whatever its state is now.
    public var written: ItemProduct

    /// - Parameters:
    ///   - item: as the journal has it.
    ///   - written: of the last completion; empty for an item that never was completed.
    public init(_ item: JournalItem, written: ItemProduct = ItemProduct()) {
        self.item = item
        self.written = written
    }

    /// Empty unless the item is completed.
    public var product: ItemProduct { item.state == .completed ? written : ItemProduct() }
}
