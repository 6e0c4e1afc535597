/// The format of a file that is a volume.
public enum VolumeFileFormat: String, Hashable, Sendable, CaseIterable {
    case nifti
    case nrrd
    case metaImage = "metaimage"

    /// The name for people.
    public var title: String {
        switch self {
        case .nifti: "NIfTI"
        case .nrrd: "NRRD"
        case .metaImage: "MetaImage"
        }
    }

    /// The endings of its files, in lower case, the longest ones first.
    public var endings: [String] {
        switch self {
        case .nifti: [".nii.gz", ".hdr.gz", ".nii", ".hdr"]
        case .nrrd: [".nrrd", ".nhdr"]
        case .metaImage: [".mha", ".mhd"]
        }
    }

    /// How the names of files of voxels end, and those of their headers, as programs write them.
    public static let detachedEndings: [(voxels: String, headers: [String])] = [
        (".img.gz", [".hdr", ".hdr.gz"]), (".img", [".hdr", ".hdr.gz"]), (".raw.gz", [".nhdr"]),
        (".raw", [".nhdr", ".mhd"]),
        (".zraw", [".mhd"]),
    ]

    /// The format of a file by its name; nil for all other names.
    public init?(ofName name: String) {
        let lower = name.lowercased()
        guard let format = Self.allCases.first(where: { $0.endings.contains { lower.hasSuffix($0) } }) else {
            return nil
        }
        self = format
    }

    /// Whether the voxels of a file with this name may be in another file.
    public static func mayBeDetached(_ name: String) -> Bool {
        let lower = name.lowercased()
        return detachedEndings.contains { $0.headers.contains { lower.hasSuffix($0) } }
    }
}
