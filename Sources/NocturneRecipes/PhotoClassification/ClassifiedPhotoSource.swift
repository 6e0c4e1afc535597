import Foundation
import NocturneFormats

/// What the recipe keeps in the journal to find a photo again and to plan for it without reading pixels.
struct ClassifiedPhotoSource: Codable, Sendable {
    /// The id of the model package.
    var model: String
    var file: String
    /// The path below the input that was named: what a result may say of where it came from.
    var name: String
    /// Upright, as it is decoded.
    var width: Int
    var height: Int
    /// What decoding holds at its peak, the picture counted.
    var decoderBytes: Int
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

    init(
        model: String,
        file: String,
        name: String,
        facts: PhotoFacts,
        metadata: ClinicalMetadata?,
        expectsMetadata: Bool
    ) {
        self.model = model
        self.file = file
        self.name = name
        width = facts.uprightWidth
        height = facts.uprightHeight
        decoderBytes = facts.predictedBytes
        self.metadata = metadata
        self.expectsMetadata = expectsMetadata
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(ClassifiedPhotoSource.self, from: Data(text.utf8))
    }
}
