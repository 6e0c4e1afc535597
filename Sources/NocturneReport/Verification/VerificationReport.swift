package import NocturneSystem

/// What ``BatchVerification`` found.
public struct VerificationReport: Codable, Sendable {
    /// Something that differs from what was recorded, or does not agree.
    public struct Finding: Codable, Sendable, Hashable {
        public let path: String
        public let detail: String
    }

    public internal(set) var schemaVersion = 1
    public internal(set) var itemsChecked = 0
    public internal(set) var filesChecked = 0
    public internal(set) var bytesChecked = 0
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
    package static let batch = JSONSchema(own: PackageResources.batch_schema_json)
    package static let run = JSONSchema(own: PackageResources.run_schema_json)
    package static let event = JSONSchema(own: PackageResources.event_schema_json)
}
