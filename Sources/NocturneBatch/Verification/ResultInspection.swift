import NocturneConcurrency
import NocturneCore
public import NocturneSystem

/// Looks into the files of finished items. The pipeline knows files and the journal; what is in the files, and how it has
/// to fit together, is known to the recipes, of which none has to be loaded for it.
public protocol ResultInspection: Sendable {
    /// Reads the item's files and holds what they say against each other.
    /// - Throws: `CancelledError`. What is wrong with the item is among the findings.
    func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings

    /// What is wrong with a file beside the items that one of them promised; nil when nothing is.
    func inspectBatchFile(at path: String) -> String?
}

/// A finished item, as the journal has it.
public struct CommittedItem: Sendable {
    public let name: String
    public let folder: String
    public let fingerprint: String
    /// Its files but `result.json` that are, to the byte, what was recorded: only these are worth a look inside.
    public let wholeFiles: Set<String>
    /// The content of `result.json`.
    public let result: [UInt8]
}

/// What was found in an item's files.
public struct ResultFindings: Sendable {
    /// Of one file each, by its path below the item's folder.
    public var faults: [(file: String, detail: String)] = []
    /// What `result.json` leaves in the journal; nil when it could not be understood.
    public var product: ItemProduct?
    /// Files beside the items that there have to be because of this one, such as a sheet of all pictures.
    public var batchFiles: Set<String> = []

    public init() {}

    public mutating func add(_ file: String, _ detail: String) { faults.append((file, detail)) }
}
