import NocturneCore
package import NocturneFormats
import NocturneJournal
package import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem

/// What the recipe stores in the journal to locate a volume again and to plan for it without reading pixels.
package struct VolumeSource: ItemSource {
    enum Format: String, Codable, Sendable {
        case nifti, nrrd, metaimage, dicom, tiff

        init(_ format: VolumeFileFormat) {
            switch format {
            case .nifti: self = .nifti
            case .nrrd: self = .nrrd
            case .metaImage: self = .metaimage
            }
        }

        /// Whether ``VolumeFileReader`` reads it.
        var isVolumeFile: Bool { VolumeFileFormat(rawValue: rawValue) != nil }
    }

    var format: Format
    /// The id of the model package.
    var model = ""
    /// The file, the channels' files in order, or the slices' files in order.
    @FilePaths var files: [String] = []
    /// The path relative to the input as given: the only location that a result may contain.
    var name = ""
    var geometry: VolumeGeometry
    /// In mm along i, j and k, from the header's own field if it has one apart from the affine.
    var spacing: SIMD3<Double>
    var modality: String?
    /// The display window from its header.
    var window: DisplayRange?
    /// Of a DICOM series in order, for each slice: the index of its file, the frame in it, and the origin of a mosaic's tile in
    /// pixels, x and y. Nil where every file is one slice, as in most series: there may be millions.
    var slices: [[Int]]?
    /// Of a NIfTI file with several volumes.
    var timePoint: TimePoint?
    /// Number of voxels before resampling; nil if nothing is resampled.
    var storedVoxels: Int?
    /// Of a part of a PET series, as ``DICOMSeries/secondsIntoScan``; nil for all others.
    var secondsIntoScan: Double?
    /// What the values of a CT are that are not in Hounsfield units; nil for all other images.
    var valueType: String?
    /// Notes from discovery: how a series was split, what a header contradicts.
    var notes: [Note]?
    /// The voxel files of NIfTI pairs and other detached headers, which are ``files``; the file with the spacing of TIFFs.
    var images: [String]?
    /// How results show names of inputs.
    package var identifiers: IdentifierPolicy?
    /// Words of its path that identify its patient; nil for none.
    package var words: [String]?

    /// Its files and their voxel files, the reference labels, and the second image.
    package var namedFiles: [String] {
        files + (images ?? []) + (reference.map { [$0] } ?? []) + (secondImage?.image?.namedFiles ?? [])
    }

    /// ``name`` as a list: by it, regions of interest name the item.
    var paths: [String] { [name] }

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

    /// Whether ``geometry`` is the grid the slices are resampled to.
    var isCorrected: Bool { storedVoxels != nil }

    /// Whether the values are in Hounsfield units; nil where the file does not state what it is.
    var isHounsfield: Bool? { modality.map { $0 == "CT" && valueType == nil } }

    static let minimumDecoderBytes = 8 << 20

    /// Bytes that a thread holds while it reads a slice: the file, and twice 4 bytes per pixel, since JPEG 2000 is
    /// decoded. A mosaic is decoded as a whole.
    var decoderBytes: Int {
        if format == .tiff { return TIFFStackReader.workingBytes(geometry.shape) }
        guard let names = sliceNames else { return Self.minimumDecoderBytes }
        let columns = geometry.shape.x + (names.map(\.x).max() ?? 0)
        let rows = geometry.shape.y + (names.map(\.y).max() ?? 0)
        return max(Self.minimumDecoderBytes, 12 * columns * rows)
    }

    /// The slices with full paths; nil if the source is not DICOM or is inconsistent.
    var sliceNames: [DICOMSlice.Name]? {
        format == .dicom ? Self.names(slices, in: files) : nil
    }
    /// The file of reference labels.
    var reference: String?
    /// The image of `--measure`; nil where none was asked for.
    var secondImage: SecondImage?
    /// See ``setLabelsFingerprint(_:_:_:)``.
    var labelsFingerprint: String?
}

extension VolumeSource {
    /// What the header of a volume file states.
    init(_ header: VolumeFileHeader) {
        self.init(format: Format(header.format), geometry: header.geometry, spacing: header.pixelSpacing)
        window = header.displayRange
        notes = header.notes.isEmpty ? nil : header.notes
    }

    /// A DICOM series that is a volume; nil for others.
    /// - Parameter files: those of its slices.
    init?(_ series: DICOMSeries, files: [FoundFile]) {
        guard let geometry = series.geometry else { return nil }
        self.init(format: .dicom, files: files.map(\.path), geometry: geometry, spacing: geometry.spacing)
        modality = series.modality
        window = DisplayRange(series)
        slices = Self.slices(series.slices.map(DICOMSlice.Name.init), in: self.files)
        storedVoxels = series.correction?.storedShape.count
        secondsIntoScan = series.secondsIntoScan
        valueType = series.otherValueType
        notes = series.notes.isEmpty ? nil : series.notes
    }

    /// The value of ``slices`` for these, of which those of other files are left out.
    package static func slices(_ names: [DICOMSlice.Name], in files: [String]) -> [[Int]]? {
        if names == files.map({ DICOMSlice.Name(path: $0) }) { return nil }
        let indices = Dictionary(uniqueKeysWithValues: zip(files, files.indices))
        return names.compactMap { name in indices[name.path].map { [$0, name.frame, name.x, name.y] } }
    }

    /// The slices with full paths for a value of ``slices``; nil if it is damaged.
    package static func names(_ slices: [[Int]]?, in files: [String]) -> [DICOMSlice.Name]? {
        guard let slices else { return files.map { DICOMSlice.Name(path: $0) } }
        guard slices.allSatisfy({ $0.count == 4 && files.indices.contains($0[0]) }) else { return nil }
        return slices.map { DICOMSlice.Name(path: files[$0[0]], frame: $0[1], x: $0[2], y: $0[3]) }
    }
}

/// The image of `--measure` for an item, as the journal keeps it.
struct SecondImage: Codable, Sendable {
    /// Its path relative to the folder given; nil where there is none for the item.
    var name: String?
    /// Why it cannot be measured; nil where it can.
    var problem: String?
    /// The image, if it can be measured: an array, since a value cannot contain another one of the same type.
    private var images: [VolumeSource]

    init(name: String?, problem: String) {
        self.name = name
        self.problem = problem
        images = []
    }

    init(name: String, image: VolumeSource) {
        self.name = name
        images = [image]
    }

    var image: VolumeSource? { images.first }
}

/// Paths of files, which the journal has as the path of their folder and their names where they are in one folder: a cohort of
/// scans has millions.
@propertyWrapper
package struct FilePaths: Codable, Sendable, Hashable {
    /// Full paths, in the order of channels or slices.
    package var wrappedValue: [String]

    /// - Parameter wrappedValue: full paths.
    package init(wrappedValue: [String]) { self.wrappedValue = wrappedValue }

    private enum CodingKeys: String, CodingKey { case folder, names }

    /// A folder with names where several files are in one folder, else a list of paths.
    package func encode(to encoder: any Encoder) throws {
        let ends = wrappedValue.map { path in
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        }
        guard wrappedValue.count > 1, let end = ends[0],
            zip(wrappedValue, ends).allSatisfy({ path, own in
                own.map { path[..<$0].utf8.elementsEqual(wrappedValue[0][..<end].utf8) } ?? false
            })
        else {
            var container = encoder.singleValueContainer()
            return try container.encode(wrappedValue)
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(String(wrappedValue[0][..<end]), forKey: .folder)
        try container.encode(
            zip(wrappedValue, ends).map { path, end in end.map { path[$0...] } ?? "" }.map(String.init),
            forKey: .names
        )
    }

    package init(from decoder: any Decoder) throws {
        // One file, and files of several folders.
        if let paths = try? decoder.singleValueContainer().decode([String].self) {
            wrappedValue = paths
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let folder = try container.decode(String.self, forKey: .folder)
        wrappedValue = try container.decode([String].self, forKey: .names).map { folder + $0 }
    }
}
