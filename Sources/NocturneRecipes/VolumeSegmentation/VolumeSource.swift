import NocturneCore
import NocturneFormats

/// What the recipe keeps in the journal to find a volume again and to plan for it without reading pixels.
struct VolumeSource: ItemSource {
    enum Format: String, Codable, Sendable { case nifti, dicom }

    var format: Format
    /// The id of the model package.
    var model: String
    /// The file, the files of the channels in order, or the slices in order.
    var files: [String]
    /// The path below the input that was named: what a result may say of where it came from.
    var name: String
    var geometry: VolumeGeometry
    /// In mm along i, j and k: as the header says it where it says it apart from the affine.
    var spacing: SIMD3<Double>
    var modality: String?
    var seriesInstanceUID: String?
    /// The file of reference labels.
    var reference: String?

    init(
        format: Format,
        model: String,
        files: [String],
        name: String,
        geometry: VolumeGeometry,
        spacing: SIMD3<Double>,
        modality: String? = nil,
        seriesInstanceUID: String? = nil,
        reference: String? = nil
    ) {
        self.format = format
        self.model = model
        self.files = files
        self.name = name
        self.geometry = geometry
        self.spacing = spacing
        self.modality = modality
        self.seriesInstanceUID = seriesInstanceUID
        self.reference = reference
    }
}
