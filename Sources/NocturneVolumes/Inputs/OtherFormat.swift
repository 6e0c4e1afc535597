import NocturneSystem

/// Files that people give and that are not read, by their names and first bytes, with what can be done.
package enum OtherFormat: String, CaseIterable {
    // By name: their first bytes are those of formats that have other contents, too.
    case numpyArchive = "a NumPy archive; save the array as NIfTI"
    case freeSurfer = "a FreeSurfer volume; convert it to NIfTI with mri_convert"
    case tarArchive = "a tar archive; unpack it first"
    case compressedDICOM = "a compressed DICOM file; unpack it with gunzip first"
    case heic = "a photo (HEIC)"
    // By their first bytes.
    case numpy = "a NumPy array; save it as NIfTI"
    case zip = "a ZIP archive; unpack it first"
    case sevenZip = "a 7z archive; unpack it first"
    case rar = "a RAR archive; unpack it first"
    case nrrd = "an NRRD file; let its name end with .nrrd or .nhdr"
    case metaImage = "a MetaImage file; let its name end with .mha or .mhd"
    case hdf5 = "an HDF5 or MINC file; convert it to NIfTI"
    case jpeg = "a photo (JPEG)"
    case png = "a picture (PNG)"
    case gif = "a picture (GIF)"
    case bmp = "a picture (BMP)"
    case webP = "a picture (WebP)"

    /// Whether models for photos may take it.
    package var isPicture: Bool { [.heic, .jpeg, .png, .gif, .bmp, .webP].contains(self) }

    /// Ends of names, in lower case.
    private var endings: [String] {
        switch self {
        case .numpyArchive: [".npz"]
        case .freeSurfer: [".mgz", ".mgh"]
        case .tarArchive: [".tar", ".tar.gz", ".tgz"]
        case .compressedDICOM: [".dcm.gz"]
        case .heic: [".heic", ".heif"]
        default: []
        }
    }

    /// The first bytes; nil where the name alone decides.
    private var mark: [UInt8]? {
        switch self {
        case .numpyArchive, .freeSurfer, .tarArchive, .compressedDICOM, .heic: nil
        case .numpy: [0x93] + Array("NUMPY".utf8)
        case .zip: [0x50, 0x4B, 0x03, 0x04]
        case .rar: Array("Rar!".utf8)
        case .sevenZip: [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]
        case .nrrd: Array("NRRD0".utf8)
        case .metaImage: Array("ObjectType".utf8)
        case .hdf5: [0x89, 0x48, 0x44, 0x46, 0x0D, 0x0A, 0x1A, 0x0A]
        case .jpeg: [0xFF, 0xD8, 0xFF]
        case .png: [0x89, 0x50, 0x4E, 0x47]
        case .gif: Array("GIF8".utf8)
        case .bmp: Array("BM".utf8)
        case .webP: Array("RIFF".utf8)
        }
    }

    /// Nil for all other files, and for those that cannot be read.
    package init?(ofFileAt path: String) {
        guard FileSystem.kind(path) == .file, let start = try? FileDescriptor(reading: path).read(count: 16)
        else { return nil }
        let name = path.lowercased()
        let format = Self.allCases.first { format in
            format.endings.contains { name.hasSuffix($0) } || format.mark.map { start.starts(with: $0) } ?? false
        }
        guard let format else { return nil }
        self = format
    }
}
