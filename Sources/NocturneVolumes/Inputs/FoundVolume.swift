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
    /// The voxel files of NIfTI pairs and other detached headers, which are ``files``; the file with the spacing of TIFFs.
    var images: [FoundFile] = []
    var volume: Result<VolumeFacts, Refusal>
    /// What volumes are ordered by.
    var order: String
    /// What ``name`` ends with besides the name of the file or folder.
    var suffix = ""
    /// Words of its paths by which its patient can be identified.
    var words: [String] = []
    /// What the header of a DICOM series names it by.
    var header: (patient: PatientIdentity?, study: String, series: String)?

    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint? { (try? volume.get())?.timePoint }

    /// All files that the result depends on.
    var allFiles: [FoundFile] { files + images }
}

/// What a header states of a volume that can be read.
struct VolumeFacts: Sendable {
    var format: VolumeSource.Format
    var geometry: VolumeGeometry
    /// In mm along i, j and k.
    var spacing: SIMD3<Double>
    /// Nil where the format states none.
    var modality: String?
    var seriesInstanceUID: String?
    /// The display window from its header.
    var window: HeaderWindow?
    /// For DICOM series only.
    var series: SeriesFacts?
    /// Notes from the header of a volume file, for the result.
    var notes: [Note] = []
    /// Of a NIfTI file with several volumes.
    var timePoint: VolumeSource.TimePoint?
}

/// What is needed to locate a DICOM series again.
struct SeriesFacts: Sendable {
    var part: String?
    var slices: SeriesSlices
    /// Voxels before resampling; nil if nothing is resampled.
    var storedVoxels: Int?
    /// What the values of a CT are that are not in Hounsfield units.
    var valueType: String?
    var notes: [Note]

    /// - Parameter files: the paths of its slices.
    init(_ series: DICOMSeries, files: [String]) {
        part = series.part
        slices = SeriesSlices(series.slices.map(DICOMSlice.Name.init), files: files)
        storedVoxels = series.correction?.storedShape.count
        valueType = series.otherValueType
        notes = series.notes
    }
}

extension VolumeFacts {
    init(_ header: VolumeFileHeader) {
        self.init(format: VolumeSource.Format(header.format), geometry: header.geometry, spacing: header.pixelSpacing)
        notes = header.notes
        window = header.displayRange.map { HeaderWindow(lower: $0.lower, upper: $0.upper) }
    }
}

/// Why a file, or a series, is not a volume that can be processed.
struct Refusal: Error {
    /// What becomes of the item.
    var problem: ItemProblem
}

/// Names of files by which volumes are known.
extension FoundVolume {
    /// The endings of all formats in which a file is a volume.
    static let endings = VolumeFileFormat.allCases.flatMap(\.endings)

    /// Whether a file is a volume by its name; not a TIFF.
    static func isVolumeFile(_ name: String) -> Bool { VolumeFileFormat(ofName: name) != nil }

    /// Whether it is one in such a file.
    var isVolumeFile: Bool { VolumeFileFormat.allCases.contains { key.hasPrefix($0.rawValue + ":") } }

    /// The name of a file of a volume without its ending.
    static func stem(_ name: String) -> String {
        let lower = name.lowercased()
        for ending in endings + [".tif", ".tiff"] where lower.hasSuffix(ending) {
            return String(name.dropLast(ending.count))
        }
        return name
    }
}

extension FoundFile {
    /// The file, and that of its voxels where it is only a header.
    var withVoxels: [FoundFile] {
        guard VolumeFileFormat.mayBeDetached(fileName),
            let header = try? VolumeFileReader.readHeader(
                at: path,
                assumesOrientation: true,
                acceptsTimeSeries: true
            ), header.dataPath != path
        else { return [self] }
        return [self, neighbour(at: header.dataPath)]
    }
}
