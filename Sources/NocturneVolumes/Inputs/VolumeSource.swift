package import NocturneBatch
import NocturneCore
import NocturneFormats
public import NocturneRecipeSupport
import NocturneSystem

/// The intensities shown as black and as white, from a header.
struct HeaderWindow: Codable, Sendable, Hashable {
    var lower: Double
    var upper: Double
}

/// What the recipe stores in the journal to locate a volume again and to plan for it without reading pixels.
public struct VolumeSource: ItemSource {
    enum Format: String, Codable, Sendable { case nifti, dicom, tiff }

    var format: Format
    /// The id of the model package.
    var model: String
    /// The file, the channels' files in order, or the slices' files in order.
    @FilePaths var files: [String]
    /// The path relative to the input as given: the only location that a result may contain.
    var name: String
    var geometry: VolumeGeometry
    /// In mm along i, j and k, from the header's own field if it has one apart from the affine.
    var spacing: SIMD3<Double>
    var modality: String?
    var seriesInstanceUID: String?
    /// The display window from its header.
    var window: HeaderWindow?
    /// The slices of a DICOM series in order; nil for other formats. Their paths are in ``files``.
    var slices: SeriesSlices?
    /// Which part of its series, or volume of its file, it is; nil for all of it.
    var part: String?
    /// Of a NIfTI file with several volumes.
    var timePoint: TimePoint?
    /// Whether ``geometry`` is the grid the slices are resampled to.
    var isCorrected: Bool?
    /// Number of voxels before resampling.
    var storedVoxels: Int?
    /// Notes from discovery: how a series was split, what a header contradicts.
    var notes: [String]?
    /// The voxel files of NIfTI pairs, whose headers are ``files``; the file with the spacing of TIFFs.
    var images: [String]?
    package var identifiers: IdentifierPolicy?
    package var words: [String]?

    package var namedFiles: [String] {
        files + (images ?? []) + (reference.map { [$0] } ?? []) + (secondImage?.image?.namedFiles ?? [])
    }

    /// One of several volumes in a file.
    struct TimePoint: Codable, Sendable, Equatable {
        /// From 0.
        var index: Int
        var count: Int
        /// Nil if the header states no time.
        @Nullable var seconds: Double?

        /// Distinguishes it from the others of its file in names, which sort in the order of time.
        var part: String {
            let digits = max(3, String(count - 1).count)
            let number = String(index)
            return "t" + String(repeating: "0", count: digits - number.count) + number
        }
    }

    /// Stores where a series' slices lie in ``files``.
    mutating func set(_ series: SeriesFacts) {
        slices = series.slices
        part = series.part
        storedVoxels = series.storedVoxels
        isCorrected = series.storedVoxels.map { _ in true }
        notes = series.notes.isEmpty ? nil : series.notes
    }

    static let minimumDecoderBytes = 8 << 20

    /// Bytes that a thread holds while it reads a slice: the file, and twice 4 bytes per pixel, since JPEG 2000 is
    /// decoded. A mosaic is decoded as a whole.
    var decoderBytes: Int {
        if format == .tiff { return TIFFStackReader.workingBytes(geometry.shape) }
        guard let slices else { return Self.minimumDecoderBytes }
        let origin = slices.largestOrigin
        let (columns, rows) = (geometry.shape.x + origin.x, geometry.shape.y + origin.y)
        return max(Self.minimumDecoderBytes, 12 * columns * rows)
    }

    /// The slices with full paths; nil if the source is not DICOM or is inconsistent.
    var sliceNames: [DICOMSliceName]? {
        guard let slices = slices?.all(in: files.count) else { return nil }
        return slices.map { DICOMSliceName(path: files[$0.file], frame: $0.frame, x: $0.x, y: $0.y) }
    }
    /// The file of reference labels.
    var reference: String?
    /// The image of `--measure`; nil where none was asked for.
    var secondImage: SecondImage?
    /// See ``setLabelsFingerprint(_:_:_:)``.
    var labelsFingerprint: String?

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
