import NocturneBatch

/// What the recipe keeps in the journal to find a photo again and to plan for it without reading pixels.
struct ClassifiedPhotoSource: ItemSource {
    var photo: PhotoRecord
    /// nil where none was given.
    var metadata: ClinicalMetadata?
    /// Whether the run had metadata at all.
    var expectsMetadata: Bool

    var identifiers: IdentifierPolicy? { photo.identifiers }
    var namedFiles: [String] { photo.namedFiles }

    init(photo: PhotoRecord, metadata: ClinicalMetadata?, expectsMetadata: Bool) {
        self.photo = photo
        self.metadata = metadata
        self.expectsMetadata = expectsMetadata
    }
}
