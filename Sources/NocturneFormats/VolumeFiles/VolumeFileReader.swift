public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension VolumeFileFormat {
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

/// Reads volumes in NIfTI, NRRD and MetaImage files, by their names: what ends neither as NRRD nor as MetaImage is NIfTI.
///
/// For NIfTI see ``NIfTIReader``. NRRD (`.nrrd`, `.nhdr`) and MetaImage (`.mha`, `.mhd`) are read with three axes and one value for each
/// voxel, all integer and float types up to 64 bits, in both byte orders, raw or compressed with gzip or zlib; the voxels may be in
/// one other file in the same folder. The functions take what those of ``NIfTIReader`` take and throw the same errors.
public enum VolumeFileReader {
    /// Reads the header, and checks that the file is long enough for the voxels.
    /// - Throws: ``NIfTIError``, naming the file and the fact.
    public static func readHeader(
        at path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(NIfTIError) -> NIfTIHeader {
        try open(path, assumesOrientation: assumesOrientation, acceptsTimeSeries: acceptsTimeSeries).header
    }

    /// Reads the voxels as float32.
    /// - Throws: ``NIfTIError``; `CancelledError`.
    public static func readVolume(
        at path: String,
        assumesOrientation: Bool = false,
        timePoint: Int? = nil,
        scope: ComputeScope
    ) throws -> NIfTIVolume {
        let file = try open(path, assumesOrientation: assumesOrientation, acceptsTimeSeries: timePoint != nil)
        return try NIfTIReader.readVolume(file, timePoint: timePoint, scope: scope)
    }

    /// Reads a label map.
    /// - Throws: ``NIfTIError``; `CancelledError`.
    public static func readLabels(
        at path: String,
        assumesOrientation: Bool = false,
        scope: ComputeScope,
        note: (Note) -> Void = { _ in }
    ) throws -> (header: NIfTIHeader, labels: LabelVolume) {
        try NIfTIReader.readLabels(open(path, assumesOrientation: assumesOrientation), scope: scope, note: note)
    }

    /// Reads a label map without holding it in memory.
    /// - Throws: ``NIfTIError``; `CancelledError`.
    public static func scanLabels(
        at path: String,
        scope: ComputeScope,
        _ body: (_ header: NIfTIHeader, _ place: Int, _ labels: UnsafeBufferPointer<UInt16>) -> Void
    ) throws -> NIfTIHeader {
        try NIfTIReader.scanLabels(open(path), scope: scope, body)
    }

    private static func open(
        _ path: String,
        assumesOrientation: Bool = false,
        acceptsTimeSeries: Bool = false
    ) throws(NIfTIError) -> NIfTIOpenFile {
        switch VolumeFileFormat(ofName: path) {
        case .nrrd: try NRRDHeader(path).open(assumesOrientation: assumesOrientation)
        case .metaImage: try MetaImageHeader(path).open(assumesOrientation: assumesOrientation)
        case .nifti, nil:
            try NIfTIOpenFile(
                path: path,
                assumesOrientation: assumesOrientation,
                acceptsTimeSeries: acceptsTimeSeries
            )
        }
    }
}
