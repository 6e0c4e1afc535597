internal import NocturneCore
import NocturneSystem

/// Parses the first bytes of a file into a checked ``VolumeFileHeader``.
struct NIfTIHeaderParser {
    let path: String
    let fields: NIfTILayout.Fields
    /// Whether the voxels are in the same file.
    let isSingleFile: Bool

    private var layout: NIfTILayout { fields.layout }

    /// Reads as many bytes as the version requires, and recognises version, byte order and container.
    init(reading source: VolumeByteSource) throws(VolumeFileError) {
        path = source.path
        var bytes = try source.read(count: 4)
        guard !bytes.isEmpty || source.endsInsideMember else {
            throw VolumeFileError(.truncated, path: path, "the file is empty")
        }
        guard bytes.count == 4 else {
            throw VolumeFileError(.truncated, path: path, "the header ends after \(bytes.count) bytes")
        }
        // `sizeof_hdr`, the first field, is 348 or 540: it shows version and byte order.
        let little = bytes.withUnsafeBytes { Int32(littleEndian: $0.loadUnaligned(as: Int32.self)) }
        let layout: NIfTILayout
        switch (little, little.byteSwapped) {
        case (348, _), (_, 348): layout = .nifti1
        case (540, _), (_, 540): layout = .nifti2
        default: throw NIfTIHeaderParser.foreign(bytes, path)
        }
        bytes += try source.read(count: layout.headerSize - 4)
        guard bytes.count == layout.headerSize else {
            throw VolumeFileError(
                .truncated,
                path: path,
                "the header ends after \(bytes.count) of \(layout.headerSize) bytes"
            )
        }
        fields = NIfTILayout.Fields(
            bytes: bytes,
            layout: layout,
            byteOrder: little == layout.headerSize ? .little : .big
        )
        let magic = Array(bytes[layout.magic..<layout.magic + 4])
        switch (layout.version, magic) {
        case (.nifti1, Array("n+1\0".utf8)), (.nifti2, Array("n+2\0".utf8)): isSingleFile = true
        case (.nifti1, Array("ni1\0".utf8)), (.nifti2, Array("ni2\0".utf8)): isSingleFile = false
        case (.nifti1, _) where magic == [0, 0, 0, 0]:
            throw VolumeFileError(
                .notNIfTI,
                path: path,
                "not a NIfTI file: an Analyze 7.5 header, which does not state the patient orientation"
            )
        default: throw NIfTIHeaderParser.foreign(magic, path)
        }
        // Bytes 8 to 11, as in PNG: a transfer that converts line ends changes them.
        if layout.version == .nifti2, bytes[8..<12] != [0x0d, 0x0a, 0x1a, 0x0a] {
            throw VolumeFileError(
                .notNIfTI,
                path: path,
                "no longer a NIfTI file: a text transfer changed its line ends"
            )
        }
    }

    /// Nothing of the content is shown: it may be that of another file, where somebody swaps the name for a link.
    private static func foreign(_ bytes: [UInt8], _ path: String) -> VolumeFileError {
        let fact =
            bytes.first == UInt8(ascii: "<")
            ? "it begins like a web page (HTML)"
            : bytes.starts(with: "PK".utf8) ? "it begins like a ZIP archive" : "it has no NIfTI header"
        return VolumeFileError(.notNIfTI, path: path, "not a NIfTI file: \(fact)")
    }

    /// The offset of the voxels in their file.
    func dataOffset() throws(VolumeFileError) -> Int {
        let stored: Int?
        if layout.version == .nifti1 {
            let value = fields.real(at: layout.dataOffset)
            stored = value.isFinite && abs(value) < 1e15 ? Int(value) : nil
        } else {
            stored = Int(fields.integer(Int64.self, at: layout.dataOffset))
        }
        guard let stored, stored >= 0, stored < 1 << 50 else {
            throw VolumeFileError(.invalidDataOffset, path: path, "the header states no valid voxel offset")
        }
        if !isSingleFile { return stored }
        // Early tools wrote zero for "directly after the header".
        if stored == 0 { return layout.firstDataOffset }
        guard stored >= layout.firstDataOffset else {
            throw VolumeFileError(
                .invalidDataOffset,
                path: path,
                "the voxels would start at byte \(stored), inside the header of \(layout.firstDataOffset) bytes"
            )
        }
        return stored
    }

    func header(
        extensions: [VolumeFileHeader.Extension],
        dataOffset: Int,
        dataPath: String
    ) throws(VolumeFileError) -> VolumeFileHeader {
        let type = try dataType()
        let (shape, time) = try axes()
        let (slope, intercept, unusableSlope) = try scaling()
        let forms = try forms(shape)
        return VolumeFileHeader(
            format: .nifti,
            version: layout.version,
            byteOrder: fields.byteOrder,
            dataType: type,
            scalingSlope: slope,
            scalingIntercept: intercept,
            unusableSlope: unusableSlope,
            geometry: VolumeGeometry(shape: shape, affine: forms.chosen),
            time: time,
            pixelSpacing: forms.spacing,
            displayRange: displayRange(),
            qformCode: fields.code(at: layout.qformCode),
            sformCode: fields.code(at: layout.sformCode),
            qform: forms.qform,
            sform: forms.sform,
            unusableForm: forms.unusable,
            longQuaternion: forms.squaredLength,
            intentCode: fields.code(at: layout.intentCode),
            unitsCode: fields.units,
            extensions: extensions,
            labels: NIfTILabelTable.labels(in: extensions),
            dataOffset: dataOffset,
            dataPath: dataPath
        )
    }

    private func dataType() throws(VolumeFileError) -> StoredVoxelType {
        guard let type = StoredVoxelType(rawValue: fields.dataTypeCode) else {
            throw VolumeFileError(
                .unsupportedDataType,
                path: path,
                "voxels of type \(StoredVoxelType.name(ofCode: fields.dataTypeCode)) are not supported"
            )
        }
        return type
    }

    private static let ciftiIntents = 3000..<3100

    private func axes() throws(VolumeFileError) -> (shape: VolumeShape, time: VolumeFileHeader.TimeSeries?) {
        let count = fields.dimension(0)
        guard (1...7).contains(count) else {
            throw VolumeFileError(.invalidDimensions, path: path, "\(count) dimensions; a NIfTI file has 1 to 7")
        }
        let sizes = (1...count).map { fields.dimension($0) }
        let text = sizes.map(String.init).joined(separator: "×")
        guard sizes.allSatisfy({ $0 > 0 }) else {
            throw VolumeFileError(.invalidDimensions, path: path, "the dimensions \(text) are not all positive")
        }
        guard count >= 2 else {
            throw VolumeFileError(.notThreeDimensional, path: path, "\(text) voxels along a single axis, not an image")
        }
        let intent = fields.code(at: layout.intentCode)
        guard !NIfTIHeaderParser.ciftiIntents.contains(intent) else {
            throw VolumeFileError(
                .notThreeDimensional,
                path: path,
                "a CIFTI file (intent code \(intent)): values of brain surfaces and regions, not a volume"
            )
        }
        guard sizes.dropFirst(4).allSatisfy({ $0 == 1 }) else {
            throw VolumeFileError(
                .notThreeDimensional,
                path: path,
                "\(count)-D image (\(text)); only 3-D volumes and 4-D time series can be read"
            )
        }
        let time = try time(sizes, text)
        // An image with two axes is one slice, as the cases of networks for slices.
        guard let shape = VolumeShape(validating: sizes[0], y: sizes[1], z: count > 2 ? sizes[2] : 1) else {
            throw VolumeFileError(
                .invalidDimensions,
                path: path,
                "the dimensions \(text) are more than any volume has"
            )
        }
        return (shape, time)
    }

    /// Slope 0 means no scaling. So does a slope that is not finite, as in the reference library and nibabel: `unusable` has it.
    private func scaling() throws(VolumeFileError) -> (slope: Double, intercept: Double, unusable: Double?) {
        let slope = fields.real(at: layout.slope)
        let intercept = fields.real(at: layout.intercept)
        guard slope.isFinite, slope != 0 else { return (1, 0, slope == 0 ? nil : slope) }
        guard intercept.isFinite else {
            throw VolumeFileError(
                .invalidScaling,
                path: path,
                "the intensity slope is \(slope), but its intercept is \(intercept)"
            )
        }
        return (slope, intercept, nil)
    }

    private func displayRange() -> DisplayRange? {
        let (upper, lower) = (fields.real(at: layout.displayRange), fields.real(at: layout.displayRange, index: 1))
        guard lower.isFinite, upper.isFinite, lower < upper else { return nil }
        return DisplayRange(lower: lower, upper: upper)
    }

    /// What the header states about the place of the voxels.
    private struct Forms {
        let chosen: Affine
        let qform: Affine?
        let sform: Affine?
        /// What is wrong with the form that is not used.
        let unusable: String?
        let squaredLength: Double?
        let spacing: SIMD3<Double>
    }

    /// Takes the s-form if it is usable, else the q-form.
    private func forms(_ shape: VolumeShape) throws(VolumeFileError) -> Forms {
        let millimetres = millimetresPerUnit
        func real(_ offset: Int, _ index: Int) -> Double { fields.real(at: offset, index: index) * millimetres }
        let stored = (1...3).map { real(layout.pixelDimensions, $0) }
        guard stored.allSatisfy({ $0.isFinite && $0 != 0 }) else {
            throw VolumeFileError(
                .invalidSpacing,
                path: path,
                "the voxel spacing \(stored.map { "\($0)" }.joined(separator: "×")) mm is not usable"
            )
        }
        let spacing = SIMD3(abs(stored[0]), abs(stored[1]), abs(stored[2]))
        var (sform, qform, long): (Affine?, Affine?, Double?) = (nil, nil, nil)
        if fields.code(at: layout.sformCode) > 0 {
            sform = Affine(rows: (0..<3).map { row in (0..<4).map { real(layout.sformRows, 4 * row + $0) } })
        }
        if fields.code(at: layout.qformCode) > 0 {
            let offset = (0..<3).map { real(layout.quaternionOffset, $0) }
            let quaternion = NIfTIQuaternion(
                b: fields.real(at: layout.quaternion),
                c: fields.real(at: layout.quaternion, index: 1),
                d: fields.real(at: layout.quaternion, index: 2),
                spacing: spacing,
                handedness: fields.real(at: layout.pixelDimensions) < 0 ? -1 : 1,
                offset: SIMD3(offset[0], offset[1], offset[2])
            )
            qform = quaternion.affine
            // More than rounding to single precision adds.
            if quaternion.squaredLength > 1.00001 { long = quaternion.squaredLength }
        }
        let centred = Self.centred(shape, spacing)
        let own = sform == nil && qform == nil ? Self.fault(centred, "header's") : nil
        let faults = (s: sform.flatMap { Self.fault($0, "s-form") }, q: qform.flatMap { Self.fault($0, "q-form") })
        (sform, qform) = (faults.s == nil ? sform : nil, faults.q == nil ? qform : nil)
        let fault = faults.s ?? faults.q ?? own
        guard let chosen = sform ?? qform ?? (fault == nil ? centred : nil) else {
            let all = [faults.s, faults.q, own].compactMap(\.self).joined(separator: "; ")
            throw VolumeFileError(.invalidAffine, path: path, all)
        }
        return Forms(chosen: chosen, qform: qform, sform: sform, unusable: fault, squaredLength: long, spacing: spacing)
    }

    /// In mm. Volumes in ml of larger voxels do not fit into an integer.
    private static let largestSpacing = 10_000.0

    /// Why a form cannot be used; nil if it can. Tools that know one form leave zeros in the other, with its code.
    static func fault(_ form: Affine, _ name: String) -> String? {
        guard form.isFinite else { return "the \(name) affine holds numbers that are not finite" }
        let steps = [length(form.columnI), length(form.columnJ), length(form.columnK)]
        if let step = steps.first(where: { $0 > largestSpacing }) {
            return "the \(name) affine has voxels of \(step) mm, which is more than any scan has (\(largestSpacing) mm)"
        }
        let product = steps[0] * steps[1] * steps[2]
        guard form.inverse != nil, product.isFinite, abs(form.determinant) > 1e-6 * product else {
            return "the \(name) affine is singular: its axes lie in one plane"
        }
        return nil
    }

    /// nibabel's reading of a header without forms, which is that of SPM's Analyze files.
    private static func centred(_ shape: VolumeShape, _ spacing: SIMD3<Double>) -> Affine {
        let middle = SIMD3(Double(shape.x - 1), Double(shape.y - 1), Double(shape.z - 1)) * spacing / 2
        return Affine(
            columnI: SIMD3(-spacing.x, 0, 0),
            columnJ: SIMD3(0, spacing.y, 0),
            columnK: SIMD3(0, 0, spacing.z),
            translation: SIMD3(middle.x, -middle.y, -middle.z)
        )
    }

    /// Unknown units are treated as millimetres.
    private var millimetresPerUnit: Double {
        switch fields.units & 7 {
        case 1: 1000
        case 3: 0.001
        default: 1
        }
    }
}
