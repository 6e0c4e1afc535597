import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

/// One volume, or one file that was expected to be one.
///
/// It is one buffer, since there may be a million of them (see ``FileBackedList``): each property is decoded when it is read,
/// and the buffer copied when one is set.
struct FoundVolume: Sendable {
    private var fields: PackedFields

    /// The places of the fields.
    private enum Field {
        static let (path, key, name, order, suffix, words) = (0, 1, 2, 3, 4, 5)
        static let (files, images, facts, problem) = (6, 7, 8, 9)
    }

    /// - Parameter order: what volumes are ordered by.
    init(
        key: String,
        name: String,
        path: String,
        files: [FoundFile],
        images: [FoundFile] = [],
        volume: Result<VolumeFacts, Refusal>,
        order: String,
        suffix: String = "",
        words: [String] = []
    ) {
        let (facts, problem) = Self.packed(volume)
        fields = PackedFields([
            Array(path.utf8), PackedFields.bytes(key, beside: path), Array(name.utf8),
            PackedFields.bytes(order, beside: path), Array(suffix.utf8), Array(PackedFields(list: words).packed),
            FoundFile.packed(files), FoundFile.packed(images), facts, problem,
        ])
    }

    var path: String { fields[text: Field.path] }

    var key: String {
        get { fields[text: Field.key, beside: path] }
        set { fields[text: Field.key, beside: path] = newValue }
    }

    var name: String {
        get { fields[text: Field.name] }
        set { fields[text: Field.name] = newValue }
    }

    var order: String {
        get { fields[text: Field.order, beside: path] }
        set { fields[text: Field.order, beside: path] = newValue }
    }

    /// What ``name`` ends with besides the name of the file or folder.
    var suffix: String {
        get { fields[text: Field.suffix] }
        set { fields[text: Field.suffix] = newValue }
    }

    /// Words of its paths by which its patient can be identified.
    var words: [String] {
        get { fields[list: Field.words] }
        set { fields[list: Field.words] = newValue }
    }

    var files: [FoundFile] { FoundFile.files(packed: fields[Field.files]) }

    /// The voxel files of NIfTI pairs, whose headers are ``files``; the file with the spacing of TIFFs.
    var images: [FoundFile] {
        get { FoundFile.files(packed: fields[Field.images]) }
        set { fields[Field.images] = FoundFile.packed(newValue)[...] }
    }

    var volume: Result<VolumeFacts, Refusal> {
        get {
            ItemProblem(packed: fields[Field.problem]).map { .failure(Refusal(problem: $0)) }
                ?? .success(VolumeFacts(packed: fields[Field.facts]))
        }
        set {
            let (facts, problem) = Self.packed(newValue)
            (fields[Field.facts], fields[Field.problem]) = (facts[...], problem[...])
        }
    }

    private static func packed(_ volume: Result<VolumeFacts, Refusal>) -> (facts: [UInt8], problem: [UInt8]) {
        switch volume {
        case .success(let facts): (facts.packed, [])
        case .failure(let refusal): ([], refusal.problem.packed)
        }
    }

    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint? { (try? volume.get())?.timePoint }

    /// All files that the result depends on.
    var allFiles: [FoundFile] { files + images }
}

extension FoundVolume: ByteRepresentable {
    init(bytes: [UInt8]) { fields = PackedFields(packed: bytes[...]) }

    var bytes: [UInt8] { Array(fields.packed) }
}

struct VolumeFacts: Sendable {
    var format: VolumeSource.Format
    var geometry: VolumeGeometry
    var spacing: SIMD3<Double>
    var modality: String?
    var seriesInstanceUID: String?
    /// The display window from its header.
    var window: HeaderWindow?
    /// For DICOM series only.
    var series: SeriesFacts?
    /// Notes from a NIfTI header, for the result.
    var notes: [String] = []
    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint?
}

/// What is needed to locate a DICOM series again.
struct SeriesFacts: Codable, Sendable {
    var part: String?
    var slices: SeriesSlices
    /// Voxels before resampling; nil if nothing is resampled.
    var storedVoxels: Int?
    var notes: [String]
}

extension VolumeFacts {
    init(_ header: NIfTIHeader) {
        self.init(format: .nifti, geometry: header.geometry, spacing: header.pixelSpacing)
        notes = header.notes
        window = header.displayRange.map { HeaderWindow(lower: $0.lower, upper: $0.upper) }
    }
}

struct Refusal: Error {
    var problem: ItemProblem
}
