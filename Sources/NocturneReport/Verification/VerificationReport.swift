package import NocturneSystem

/// What ``BatchVerification`` found.
public struct VerificationReport: Codable, Sendable {
    /// Something that differs from what was recorded, or does not agree.
    public struct Finding: Codable, Sendable, Hashable {
        /// Of the file or folder.
        public let path: String
        /// The fact, for people.
        public let detail: String
    }

    /// Of this document.
    public internal(set) var schemaVersion = 1
    /// Completed items of which files were looked for.
    public internal(set) var itemsChecked = 0
    /// Files that were read to their end, those about the batch among them.
    public internal(set) var filesChecked = 0
    /// The bytes of these files.
    public internal(set) var bytesChecked = 0
    /// In the order of items and files; empty for a batch without a fault.
    public internal(set) var faults: [Finding] = []
    /// Remarks that are not faults of the batch, such as a source that has changed since.
    public internal(set) var notes: [String] = []

    /// Adds a fault of a file or folder.
    package mutating func add(_ path: String, _ detail: String) {
        faults.append(Finding(path: path, detail: detail))
    }

    /// Adds what another part of the verification found.
    package mutating func add(_ other: VerificationReport) {
        itemsChecked += other.itemsChecked
        filesChecked += other.filesChecked
        bytesChecked += other.bytesChecked
        faults += other.faults
        notes += other.notes
    }
}

/// The schemas of what this module writes, from the folder `Schemas`: part of the program, so that checking a batch needs
/// no other files.
extension JSONSchema {
    /// Of `batch.json`.
    package static let batch = JSONSchema(own: PackageResources.batch_schema_json)
    /// Of `run.json` in the folder of an item.
    package static let run = JSONSchema(own: PackageResources.run_schema_json)
    /// Of one line of `events.jsonl`.
    package static let event = JSONSchema(own: PackageResources.event_schema_json)
}
