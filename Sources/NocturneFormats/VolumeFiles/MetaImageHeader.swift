import NocturneCore
import NocturneSystem

/// A MetaImage header. Source: the documentation of MetaIO, and its reader in ITK.
struct MetaImageHeader {
    private var fields: TextHeader.Fields
    private let text: TextHeader

    private static let lastField = "elementdatafile"

    init(_ path: String) throws(VolumeFileError) {
        text = try TextHeader(of: path, .metaImage, isHeader: Self.isFirst) { Self.name(of: $0) == Self.lastField }
        fields = TextHeader.Fields(path: path)
        for line in text.lines where !line.trimmed.isEmpty {
            guard let sign = line.firstIndex(of: "=") else { throw fields.invalid("has a line that is not a field") }
            try fields.add(line[..<sign], line[sign...].dropFirst())
        }
    }

    private static func name(of line: String) -> String? {
        line.firstIndex(of: "=").map { line[..<$0].trimmed.lowercased() }
    }

    /// All writers begin with one of these fields.
    private static func isFirst(_ line: String) -> Bool {
        ["objecttype", "comment", "ndims", "objectsubtype"].contains(name(of: line))
    }

    func open(assumesOrientation: Bool) throws(VolumeFileError) -> OpenVolumeFile {
        guard fields["objecttype"]?.lowercased() ?? "image" == "image" else {
            throw VolumeFileError(.notThreeDimensional, path: fields.path, "an object of MetaIO that is not an image")
        }
        let volume = DescribedVolume(
            format: .metaImage,
            dataType: try dataType(),
            byteOrder: try flag("binarydatabyteordermsb", "elementbyteordermsb") ?? false ? .big : .little,
            shape: try shape(),
            placement: try placement()
        )
        return try volume.open(fields.path, try storage(), assumesOrientation: assumesOrientation)
    }

    /// The first of these fields that there is.
    private func flag(_ names: String...) throws(VolumeFileError) -> Bool? {
        guard let name = names.first(where: { fields[$0] != nil }) else { return nil }
        switch fields[name]?.lowercased() {
        case "true", "t", "1": return true
        case "false", "f", "0": return false
        default: throw fields.invalid("states neither true nor false in the field \"\(name)\"")
        }
    }

    // MARK: The array

    /// MET_LONG has four bytes in every file, whatever the size of the type `long` on the machine that wrote it.
    private static let types: [String: StoredVoxelType] = [
        "met_char": .int8, "met_uchar": .uint8, "met_short": .int16, "met_ushort": .uint16,
        "met_int": .int32, "met_uint": .uint32, "met_long": .int32, "met_ulong": .uint32,
        "met_long_long": .int64, "met_ulong_long": .uint64, "met_float": .float32, "met_double": .float64,
    ]

    private func dataType() throws(VolumeFileError) -> StoredVoxelType {
        let channels = try fields.integer("elementnumberofchannels") ?? 1
        guard channels == 1 else {
            throw VolumeFileError(.notThreeDimensional, path: fields.path, "\(channels) values for each voxel")
        }
        guard let type = Self.types[try fields.required("elementtype").lowercased()] else {
            throw VolumeFileError(.unsupportedDataType, path: fields.path, "voxels of this type are not supported")
        }
        let function = (
            slope: try fields.numbers("elementtointensityfunctionslope", count: 1)?[0] ?? 1,
            offset: try fields.numbers("elementtointensityfunctionoffset", count: 1)?[0] ?? 0
        )
        guard function == (1, 0) else {
            throw VolumeFileError(
                .invalidScaling,
                path: fields.path,
                "the header scales intensities, which ITK ignores; store the values themselves"
            )
        }
        return type
    }

    private func shape() throws(VolumeFileError) -> VolumeShape {
        guard let axes = try fields.integer("ndims") else { throw fields.invalid("has no field \"ndims\"") }
        guard axes == 3 else {
            throw VolumeFileError(.notThreeDimensional, path: fields.path, "\(axes) axes, not the three of a volume")
        }
        return try fields.shape("dimsize")
    }

    // MARK: The patient

    private func placement() throws(VolumeFileError) -> DescribedVolume.Placement {
        guard let numbers = try fields.numbers("elementspacing", "elementsize", count: 3) else {
            throw VolumeFileError(.invalidSpacing, path: fields.path, "the header has no voxel spacing")
        }
        let unit = DescribedVolume.Placement.millimetres(fields["distanceunits"] ?? "mm")
        let spacing = SIMD3(numbers) * unit
        let origin = try fields.numbers("offset", "position", "origin", count: 3) ?? [0, 0, 0]
        guard let matrix = try fields.numbers("transformmatrix", "rotation", "orientation", count: 9) else {
            return .init(assumedWith: spacing)
        }
        // Three numbers for each axis of the array.
        return .init(
            (0..<3).map { SIMD3(matrix[3 * $0..<3 * $0 + 3]) * spacing[$0] },
            origin: SIMD3(origin) * unit,
            spacing: spacing,
            space: DescribedVolume.Placement.lps,
            isStated: true
        )
    }

    // MARK: Storage

    private func storage() throws(VolumeFileError) -> DescribedVolume.Storage {
        guard try flag("binarydata") ?? true else {
            throw fields.unsupported("the voxels are stored as text; save them as binary data")
        }
        let isCompressed = try flag("compresseddata") ?? false
        let name = try fields.required(Self.lastField)
        if name.lowercased() == "local" {
            return DescribedVolume.Storage(path: fields.path, isCompressed: isCompressed, start: text.byteCount)
        }
        let path = try DescribedVolume.Storage.path(named: name, by: fields)
        let size = try fields.integer("headersize") ?? 0
        return DescribedVolume.Storage(
            path: path,
            isCompressed: isCompressed,
            start: max(0, size),
            // HeaderSize −1: the voxels are the last bytes of the file, whatever precedes them.
            skipped: size < 0 ? -1 : 0
        )
    }
}
