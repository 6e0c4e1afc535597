import NocturneSystem

/// Files that people give and that are not read, by their first bytes, with what can be done.
enum OtherFormat: String, CaseIterable {
    case zip = "a ZIP archive, which has to be unpacked first"
    case sevenZip = "a 7z archive, which has to be unpacked first"
    case nrrd = "an NRRD file; convert it to NIfTI"
    case metaImage = "a MetaImage file; convert it to NIfTI"
    case hdf5 = "an HDF5 or MINC file; convert it to NIfTI"

    private var mark: [UInt8] {
        switch self {
        case .zip: [0x50, 0x4B, 0x03, 0x04]
        case .sevenZip: [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]
        case .nrrd: Array("NRRD0".utf8)
        case .metaImage: Array("ObjectType".utf8)
        case .hdf5: [0x89, 0x48, 0x44, 0x46, 0x0D, 0x0A, 0x1A, 0x0A]
        }
    }

    /// Nil for all other files, and for those that cannot be read.
    init?(ofFileAt path: String) {
        guard FileSystem.kind(path) == .file, let start = try? FileDescriptor(reading: path).read(count: 16),
            let format = Self.allCases.first(where: { start.starts(with: $0.mark) })
        else { return nil }
        self = format
    }
}
