import Foundation

/// What the recipe keeps in the journal to find a photo again and to plan for it without reading pixels.
struct ClassifiedPhotoSource: Codable, Sendable {
    var photo: PhotoRecord
    /// nil where none was given.
    var metadata: ClinicalMetadata?
    /// Whether the run had metadata at all.
    var expectsMetadata: Bool

    var encoded: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    init(photo: PhotoRecord, metadata: ClinicalMetadata?, expectsMetadata: Bool) {
        self.photo = photo
        self.metadata = metadata
        self.expectsMetadata = expectsMetadata
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(ClassifiedPhotoSource.self, from: Data(text.utf8))
    }
}
