import Foundation
import NocturneCore
import NocturneFormats

/// What the recipe keeps in the journal to find a volume again and to plan for it without reading pixels.
struct VolumeSource: Codable, Sendable {
    enum Format: String, Codable, Sendable { case nifti, dicom }

    var format: Format
    /// The id of the model package.
    var model: String
    /// The file, or the slices in order.
    var files: [String]
    /// The path below the input that was named: what a result may say of where it came from.
    var name: String
    var geometry: VolumeGeometry
    var modality: String?
    var seriesInstanceUID: String?

    var encoded: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    init(
        format: Format,
        model: String,
        files: [String],
        name: String,
        geometry: VolumeGeometry,
        modality: String? = nil,
        seriesInstanceUID: String? = nil
    ) {
        self.format = format
        self.model = model
        self.files = files
        self.name = name
        self.geometry = geometry
        self.modality = modality
        self.seriesInstanceUID = seriesInstanceUID
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(VolumeSource.self, from: Data(text.utf8))
    }
}
