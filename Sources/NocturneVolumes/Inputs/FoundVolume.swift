import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneSystem

/// One volume, or one file that was expected to be one.
struct FoundVolume: Sendable {
    var key: String
    var name: String
    let path: String
    let files: [FoundFile]
    /// The voxel files of NIfTI pairs, whose headers are ``files``; the file with the spacing of TIFFs.
    var images: [FoundFile] = []
    var volume: Result<VolumeFacts, Refusal>
    /// What volumes are ordered by.
    var order: String
    /// What ``name`` ends with besides the name of the file or folder.
    var suffix = ""
    /// Words of its paths by which its patient can be identified.
    var words: [String] = []

    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint? { (try? volume.get())?.timePoint }

    /// All files that the result depends on.
    var allFiles: [FoundFile] { files + images }
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
    var notes: [Note] = []
    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint?
}

/// What is needed to locate a DICOM series again.
struct SeriesFacts: Codable, Sendable {
    var part: String?
    var slices: SeriesSlices
    /// Voxels before resampling; nil if nothing is resampled.
    var storedVoxels: Int?
    /// What the values of a CT are that are not in Hounsfield units.
    var valueType: String?
    var notes: [Note]
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

/// Names of files by which volumes are known.
extension FoundVolume {
    /// Whether a file is NIfTI by its name.
    static func isNIfTIName(_ name: String) -> Bool {
        let lower = name.lowercased()
        return [".nii", ".nii.gz", ".hdr", ".hdr.gz"].contains { lower.hasSuffix($0) }
    }

    /// The name of a file of a volume without its ending.
    static func stem(_ name: String) -> String {
        let lower = name.lowercased()
        for ending in [".nii.gz", ".hdr.gz", ".nii", ".hdr", ".tif", ".tiff"] where lower.hasSuffix(ending) {
            return String(name.dropLast(ending.count))
        }
        return name
    }
}
