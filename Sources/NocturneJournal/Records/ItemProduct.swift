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

/// What the journal keeps of a finished item.
public struct ItemProduct: Sendable, Hashable {
    public var files: [ItemFile]
    public var statistics: [Statistic]
    /// Remarks for the reader of the report: an empty label, a remark of the file reader.
    public var notes: [String]
    /// Entries of their own in a review queue.
    public var parts: [ItemPart]

    /// What the files take on the disk.
    public var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    public init(files: [ItemFile], statistics: [Statistic], notes: [String], parts: [ItemPart] = []) {
        self.files = files
        self.statistics = statistics
        self.notes = notes
        self.parts = parts
    }
}
