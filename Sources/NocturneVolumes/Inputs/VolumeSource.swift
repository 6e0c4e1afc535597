package import NocturneBatch
import NocturneCore
import NocturneFormats
public import NocturneRecipeSupport

/// The intensities to be shown from black to white, as a header states them.
struct StatedWindow: Codable, Sendable, Hashable {
    var lower: Double
    var upper: Double
}

/// What the recipe keeps in the journal to find a volume again and to plan for it without reading pixels.
public struct VolumeSource: ItemSource {
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
    /// What its header says is to be shown.
    var window: StatedWindow?
    /// The slices of a DICOM series in order; nil for other formats. Their paths are all in ``files``.
    var slices: [Slice]?
    /// Which part of its series it is; nil for all of it.
    var part: String?
    /// Whether ``geometry`` is what the slices are resampled to.
    var isCorrected: Bool?
    /// Voxels before that.
    var storedVoxels: Int?
    /// What was found out when it was found: how a series was told from others, what a header contradicts.
    var notes: [String]?
    /// The files of voxels of NIfTI pairs, whose headers are ``files``.
    var images: [String]?
    package var identifiers: IdentifierPolicy?

    package var namedFiles: [String] { files + (images ?? []) + (reference.map { [$0] } ?? []) }

    /// One slice: its file by its place in ``files``, and its place in that file.
    struct Slice: Codable, Sendable, Hashable {
        var file: Int
        var frame: Int
        /// Where a mosaic's tile begins, in pixels.
        var x: Int
        var y: Int

        /// Numbers alone: a source has a line for each item in the journal, with up to thousands of slices.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            for number in [file, frame, x, y] { try container.encode(number) }
        }

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            file = try container.decode(Int.self)
            frame = try container.decode(Int.self)
            x = try container.decode(Int.self)
            y = try container.decode(Int.self)
        }

        init(_ name: DICOMSliceName, file: Int) {
            self.file = file
            frame = name.frame
            x = name.x
            y = name.y
        }
    }

    /// Keeps where the slices of a series lie; `files` are those of ``files``.
    mutating func set(_ series: SeriesFacts, files: [FoundFile]) {
        let places = Dictionary(uniqueKeysWithValues: files.enumerated().map { ($0.element.path, $0.offset) })
        slices = series.names.compactMap { name in places[name.path].map { Slice(name, file: $0) } }
        part = series.part
        storedVoxels = series.storedVoxels
        isCorrected = series.storedVoxels.map { _ in true }
        notes = series.notes.isEmpty ? nil : series.notes
    }

    static let leastDecoderBytes = 8 << 20

    /// What a thread holds while it reads: of a slice its file's bytes, and twice 4 bytes a pixel, as JPEG 2000 is
    /// decoded. A mosaic is decoded as a whole.
    var decoderBytes: Int {
        guard let slices else { return Self.leastDecoderBytes }
        let columns = geometry.shape.x + (slices.map(\.x).max() ?? 0)
        let rows = geometry.shape.y + (slices.map(\.y).max() ?? 0)
        return max(Self.leastDecoderBytes, 12 * columns * rows)
    }

    /// The slices by their whole names; nil where the source is none of DICOM, or contradicts itself.
    var sliceNames: [DICOMSliceName]? {
        guard let slices, slices.allSatisfy({ files.indices.contains($0.file) }) else { return nil }
        return slices.map { DICOMSliceName(path: files[$0.file], frame: $0.frame, x: $0.x, y: $0.y) }
    }
    /// The file of reference labels.
    var reference: String?

    init(
        format: Format,
        model: String,
        files: [String],
        name: String,
        images: [String] = [],
        identifiers: IdentifierPolicy? = nil,
        geometry: VolumeGeometry,
        spacing: SIMD3<Double>,
        modality: String? = nil,
        seriesInstanceUID: String? = nil,
        notes: [String] = [],
        reference: String? = nil
    ) {
        self.format = format
        self.model = model
        self.files = files
        self.name = name
        self.images = images.isEmpty ? nil : images
        self.identifiers = identifiers
        self.geometry = geometry
        self.spacing = spacing
        self.modality = modality
        self.seriesInstanceUID = seriesInstanceUID
        self.notes = notes.isEmpty ? nil : notes
        self.reference = reference
    }
}
