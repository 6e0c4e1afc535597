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
    /// Whether no input names it, but another file of its case: it is for models with several channels.
    var isSibling = false
    /// What a header states of it; its file names and how results show them are added by ``source(_:model:_:)``.
    var volume: Result<VolumeSource, ItemProblem>
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
