package import NocturneBatch
public import NocturneRecipeSupport

/// What the recipe stores in the journal to locate a photo again and to plan for it without reading pixels.
public struct ClassifiedPhotoSource: ItemSource {
    var photo: PhotoRecord
    /// Nil if none was given.
    var metadata: ClinicalMetadata?
    /// Whether the run had any metadata.
    var expectsMetadata: Bool

    package var identifiers: IdentifierPolicy? { photo.identifiers }
    package var namedFiles: [String] { photo.namedFiles }

    init(photo: PhotoRecord, metadata: ClinicalMetadata?, expectsMetadata: Bool) {
        self.photo = photo
        self.metadata = metadata
        self.expectsMetadata = expectsMetadata
    }
}
