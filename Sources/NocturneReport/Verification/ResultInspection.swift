public import NocturneJournal
public import NocturneSystem

/// Reads the files of finished items. This module knows files and the journal; what the files contain, and how they have to
/// agree, is known to the recipes, of which none has to be loaded for it.
public protocol ResultInspection: Sendable {
    /// Reads the item's files and compares them with each other.
    /// - Throws: `CancelledError`. What is wrong with the item is among the findings.
    func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings

    /// What is wrong with a file of the batch that an item promised; nil when nothing is.
    func inspectBatchFile(at path: String) -> String?
}

/// A finished item, as the journal has it.
public struct CommittedItem: Sendable {
    /// Of its folder.
    public let name: String
    /// The path of its folder.
    public let folder: String
    /// In hexadecimal digits; of a copy without a journal the one in `result.json`, empty where that cannot be read.
    public let fingerprint: String
    /// Its files without `result.json` that are, to the byte, what was recorded: only these are worth reading.
    public let wholeFiles: Set<String>
    /// The content of `result.json`.
    public let result: [UInt8]
}

/// What was found in an item's files.
public struct ResultFindings: Sendable {
    /// Of one file each, by its path below the item's folder.
    public var faults: [(file: String, detail: String)] = []
    /// What the journal should have according to `result.json`; nil when it could not be decoded.
    public var product: ItemProduct?
    /// Files of the batch that must exist because of this item, such as a contact sheet.
    public var batchFiles: Set<String> = []

    /// Without faults and without a product.
    public init() {}

    /// Adds a fault of a file, by its path below the item's folder.
    public mutating func add(_ file: String, _ detail: String) { faults.append((file, detail)) }
}
