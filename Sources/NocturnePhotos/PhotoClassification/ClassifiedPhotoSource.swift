package import NocturneBatch
public import NocturneRecipeSupport

/// What the recipe stores in the journal to locate a photo again and to plan for it without reading pixels.
public struct ClassifiedPhotoSource: ItemSource {
    var photo: PhotoRecord
    /// Nil if none was given.
    var metadata: ClinicalMetadata?
    /// On values that were not understood; nil if all were, and in journals of earlier versions.
    var metadataNotes: [String]?
    /// Whether the run had any metadata.
    var expectsMetadata: Bool

    package var identifiers: IdentifierPolicy? { photo.identifiers }
    package var words: [String]? { photo.words }
    package var namedFiles: [String] { photo.namedFiles }

    init(photo: PhotoRecord, metadata reading: ClinicalMetadataReading?, expectsMetadata: Bool) {
        self.photo = photo
        metadata = reading?.metadata
        metadataNotes = reading.flatMap { $0.notes.isEmpty ? nil : $0.notes }
        self.expectsMetadata = expectsMetadata
    }
}
