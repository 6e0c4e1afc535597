/// Something that differs from what was recorded, or does not agree.
public struct VerificationFinding: Codable, Sendable, Hashable {
    public let path: String
    public let detail: String

    public init(path: String, detail: String) {
        self.path = path
        self.detail = detail
    }
}

/// What ``BatchVerification`` found.
public struct VerificationReport: Codable, Sendable {
    public internal(set) var schemaVersion = 1
    public internal(set) var itemsChecked = 0
    public internal(set) var filesChecked = 0
    public internal(set) var bytesChecked = 0
    public internal(set) var faults: [VerificationFinding] = []
    /// Remarks that are not faults of the batch, such as a source that has changed since.
    public internal(set) var notes: [String] = []

    init() {}

    mutating func add(_ path: String, _ detail: String) {
        faults.append(VerificationFinding(path: path, detail: detail))
    }

    mutating func add(_ other: VerificationReport) {
        itemsChecked += other.itemsChecked
        filesChecked += other.filesChecked
        bytesChecked += other.bytesChecked
        faults += other.faults
        notes += other.notes
    }
}
