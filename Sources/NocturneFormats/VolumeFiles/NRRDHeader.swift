import NocturneCore
import NocturneSystem

/// An NRRD header. Source: "Definition of NRRD File Format", versions 1 to 5, of Teem.
struct NRRDHeader {
    private var fields: TextHeader.Fields
    /// Keys and values, which programs define.
    private var pairs: [String: String] = [:]
    private let text: TextHeader

    init(_ path: String) throws(VolumeFileError) {
        text = try TextHeader(of: path, .nrrd, isHeader: Self.isFirst, isLast: \.isEmpty)
        fields = TextHeader.Fields(path: path)
        for line in text.lines.dropFirst() where !line.hasPrefix("#") && !line.isEmpty {
            // A value may contain the sign that ends the name of a field.
            let pair = line.firstRange(of: ":=")
            guard let field = line.firstRange(of: ": ") ?? line.firstRange(of: ":") else {
                throw fields.invalid("has a line that is not a field")
            }
            if let pair, pair.lowerBound <= field.lowerBound {
                pairs[String(line[..<pair.lowerBound])] = String(line[pair.upperBound...])
            } else {
                try fields.add(line[..<field.lowerBound], line[field.upperBound...])
            }
            // What follows, up to the end of the header, are names of files.
            if let name = fields["data file", "datafile"], DescribedVolume.Storage.isList(name) { break }
        }
    }

    private static func isFirst(_ line: String) -> Bool {
        line.hasPrefix("NRRD000") && line.utf8.count == 8 && ("1"..."5").contains(line.suffix(1))
    }

    func open(assumesOrientation: Bool) throws(VolumeFileError) -> OpenVolumeFile {
        let type = try dataType()
        let volume = DescribedVolume(
            format: .nrrd,
            dataType: type,
            byteOrder: try byteOrder(type),
            shape: try shape(),
            placement: try placement(),
            labels: labels
        )
        return try volume.open(fields.path, try storage(), assumesOrientation: assumesOrientation)
    }

    // MARK: The array

    private static let types: [String: StoredVoxelType] = {
        let names: [(StoredVoxelType, [String])] = [
            (.int8, ["signed char", "int8", "int8_t"]), (.uint8, ["uchar", "unsigned char", "uint8", "uint8_t"]),
            (.int16, ["short", "short int", "signed short", "signed short int", "int16", "int16_t"]),
            (.uint16, ["ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"]),
            (.int32, ["int", "signed int", "int32", "int32_t"]),
            (.uint32, ["uint", "unsigned int", "uint32", "uint32_t"]),
            (
                .int64,
                [
                    "longlong", "long long", "long long int", "signed long long", "signed long long int", "int64",
                    "int64_t",
                ]
            ),
            (.uint64, ["ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"]),
            (.float32, ["float"]), (.float64, ["double"]),
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { type, names in names.map { ($0, type) } })
    }()

    private func dataType() throws(VolumeFileError) -> StoredVoxelType {
        guard let type = Self.types[try fields.required("type").lowercased()] else {
            throw VolumeFileError(.unsupportedDataType, path: fields.path, "voxels of this type are not supported")
        }
        return type
    }

    private func byteOrder(_ type: StoredVoxelType) throws(VolumeFileError) -> VolumeFileHeader.ByteOrder {
        switch fields["endian"]?.lowercased() {
        case "little": return .little
        case "big": return .big
        // A byte has no order, and writers then omit the field.
        case nil where type.bytesPerVoxel == 1: return .little
        default: throw fields.invalid("has no byte order: the field \"endian\" must be little or big")
        }
    }

    private func shape() throws(VolumeFileError) -> VolumeShape {
        guard let axes = try fields.integer("dimension") else { throw fields.invalid("has no field \"dimension\"") }
        let kinds = fields["kinds"]?.lowercased().split(whereSeparator: \.isWhitespace) ?? []
        // Any other kind is an axis of values: vectors, colours, or the segments and time points that 3D Slicer stores as a list.
        let isScalar = kinds.allSatisfy { ["domain", "space", "???", "none"].contains($0) }
        guard axes == 3, isScalar else {
            let hint = axes == 4 ? ": several values for each voxel, several layers of labels, or a time series" : ""
            throw VolumeFileError(
                .notThreeDimensional,
                path: fields.path,
                "\(axes) axes, not the three of a volume\(hint)"
            )
        }
        return try fields.shape("sizes")
    }

    // MARK: The patient

    private func placement() throws(VolumeFileError) -> DescribedVolume.Placement {
        let space = fields["space"].flatMap { DescribedVolume.Placement.spaces[$0.lowercased()] }
        guard let directions = fields["space directions"] else {
            let unit = try millimetres("units")
            guard let numbers = try fields.numbers("spacings", count: 3) else {
                throw VolumeFileError(.invalidSpacing, path: fields.path, "the header has no voxel spacing")
            }
            return .init(assumedWith: SIMD3(numbers) * unit)
        }
        let unit = try millimetres("space units")
        guard let vectors = Self.vectors(directions), vectors.count == 3 else {
            throw fields.invalid("does not have 3 vectors of 3 numbers in the field \"space directions\"")
        }
        var origin = SIMD3<Double>.zero
        if let stated = fields["space origin"] {
            guard let vector = Self.vectors(stated), vector.count == 1 else {
                throw fields.invalid("does not have a vector of 3 numbers in the field \"space origin\"")
            }
            origin = vector[0]
        }
        // Directions in a space that is not the patient's are read as ITK reads them, where that is asked for.
        return .init(
            vectors.map { $0 * unit },
            origin: origin * unit,
            space: space ?? DescribedVolume.Placement.lps,
            isStated: space != nil
        )
    }

    /// Vectors such as `(1,0,0) (0,1,0)`; nil for other text, and for axes that have none.
    static func vectors(_ text: String) -> [SIMD3<Double>]? {
        var (rest, vectors) = (text[...], [SIMD3<Double>]())
        while true {
            rest = rest.drop(while: \.isWhitespace)
            guard !rest.isEmpty else { return vectors }
            guard rest.first == "(", let end = rest.firstIndex(of: ")") else { return nil }
            let parts = rest[..<end].dropFirst().split(separator: ",", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { Double($0.trimmed) }
            guard parts.count == 3, numbers.count == 3 else { return nil }
            vectors.append(SIMD3(numbers))
            rest = rest[end...].dropFirst()
        }
    }

    /// In one unit of a field with a text in quotation marks for each axis.
    private func millimetres(_ name: String) throws(VolumeFileError) -> Double {
        guard let value = fields[name] else { return 1 }
        let parts = value.split(separator: "\"", omittingEmptySubsequences: false)
        let units = Set(
            parts.indices.filter { $0 % 2 == 1 }.map { DescribedVolume.Placement.millimetres(parts[$0].trimmed) }
        )
        guard units.count < 2 else { throw fields.invalid("has different units in the field \"\(name)\"") }
        return units.first ?? 1
    }

    // MARK: Labels

    /// The names and colours that 3D Slicer writes with a segmentation.
    private var labels: [UInt16: VolumeFileHeader.Label] {
        var labels: [UInt16: VolumeFileHeader.Label] = [:]
        for index in 0..<pairs.count {
            guard let value = pairs["Segment\(index)_LabelValue"] else { break }
            guard let value = UInt16(value.trimmed), value > 0, let name = pairs["Segment\(index)_Name"]?.trimmed,
                !name.isEmpty
            else { continue }
            let color = pairs["Segment\(index)_Color"]?.split(separator: " ").compactMap { Double($0) }
            labels[value] = VolumeFileHeader.Label(name: name, color: LabelColor(fractions: color ?? []))
        }
        return labels
    }

    // MARK: Storage

    private func storage() throws(VolumeFileError) -> DescribedVolume.Storage {
        let isCompressed: Bool
        switch try fields.required("encoding").lowercased() {
        case "raw": isCompressed = false
        case "gzip", "gz": isCompressed = true
        default:
            throw fields.unsupported(
                "the voxels are neither raw nor compressed with gzip; save them in one of these encodings"
            )
        }
        guard try fields.integer("line skip", "lineskip") ?? 0 == 0 else {
            throw fields.unsupported("the header skips lines of text in front of the voxels")
        }
        let skipped = try fields.integer("byte skip", "byteskip") ?? 0
        if let name = fields["data file", "datafile"] {
            let path = try DescribedVolume.Storage.path(named: name, by: fields)
            return DescribedVolume.Storage(path: path, isCompressed: isCompressed, start: 0, skipped: skipped)
        }
        guard text.isEnded else {
            throw VolumeFileError(.truncated, path: fields.path, "the file ends with its header")
        }
        return DescribedVolume.Storage(
            path: fields.path,
            isCompressed: isCompressed,
            start: text.byteCount,
            skipped: skipped
        )
    }
}
