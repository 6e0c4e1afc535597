public import NocturneSystem

/// The label map of an item as a person has edited it, which takes the place of the model's.
public struct LabelEdit: Sendable, Codable, Hashable {
    /// The name of the item's folder.
    public var item: String
    /// The fingerprint of the result that was edited: of its sources, model and options. With another one the edit does not
    /// apply.
    public var baseFingerprint: String
    /// The name of the person's file.
    public var file: String
    /// The digest of that file.
    public var sha256: String
    /// When it was taken over, UTC, RFC 3339.
    public var time: String

    public init(item: String, baseFingerprint: String, file: String, sha256: String, time: String) {
        self.item = item
        self.baseFingerprint = baseFingerprint
        self.file = file
        self.sha256 = sha256
        self.time = time
    }

    /// The fingerprint of the result that is made from the edited map.
    public var fingerprint: ContentDigest { ContentDigest.of("edited labels 1\n\(baseFingerprint)\n\(sha256)") }
}
