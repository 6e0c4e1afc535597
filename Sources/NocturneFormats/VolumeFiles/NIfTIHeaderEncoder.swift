internal import NocturneCore

/// Writes the header of a single `.nii` file, little-endian: NIfTI-1, or NIfTI-2 when a dimension requires it.
struct NIfTIHeaderEncoder {
    var geometry: VolumeGeometry
    var dataType: StoredVoxelType
    var intentCode = 0
    /// Of a stored value, to the value that it stands for.
    var slope = 1.0
    var forms: NIfTIForms
    var extensions: [VolumeFileHeader.Extension] = []

    /// The fixed text of the header.
    static let summary = "Nocturne"

    /// Header, flag and extensions: everything before the first voxel.
    func encoded() -> [UInt8] {
        let shape = geometry.shape
        let needsNIfTI2 = max(shape.x, shape.y, shape.z) > Int(Int16.max)
        let layout = needsNIfTI2 ? NIfTILayout.nifti2 : .nifti1
        let blocks = extensions.flatMap { NIfTIHeaderEncoder.block($0) }
        let dataOffset = layout.firstDataOffset + blocks.count
        var bytes = HeaderBytes(layout: layout)
        if layout.version == .nifti1 {
            bytes.put(Int32(348), at: 0)
            bytes.put(Array("n+1\0".utf8), at: layout.magic)
            // The value that Analyze expects.
            bytes.put([UInt8(ascii: "r")], at: 38)
        } else {
            bytes.put(Int32(540), at: 0)
            bytes.put(Array("n+2\0\r\n".utf8) + [0x1a, 0x0a], at: layout.magic)
        }
        for (index, size) in [3, shape.x, shape.y, shape.z, 1, 1, 1, 1].enumerated() {
            bytes.putDimension(size, index)
        }
        bytes.put(Int16(dataType.rawValue), at: layout.dataType)
        bytes.put(Int16(8 * dataType.bytesPerVoxel), at: layout.bitsPerVoxel)
        if layout.version == .nifti1 {
            bytes.putReal(Double(dataOffset), at: layout.dataOffset)
        } else {
            bytes.put(Int64(dataOffset), at: layout.dataOffset)
        }
        bytes.putReal(slope, at: layout.slope)
        bytes.putUnits(2)
        bytes.putCode(intentCode, at: layout.intentCode)
        bytes.put(Array(NIfTIHeaderEncoder.summary.utf8), at: layout.summary)
        putForms(&bytes, layout)
        if !blocks.isEmpty { bytes.put([1], at: layout.headerSize) }
        return bytes.bytes + blocks
    }

    private func putForms(_ bytes: inout HeaderBytes, _ layout: NIfTILayout) {
        let affine = geometry.affine
        var quaternion = NIfTIQuaternion(of: leansSlightly ? Self.squared(affine) : affine)
        if layout.version == .nifti1 { quaternion.roundToFloat() }
        let spacing = geometry.spacing
        // A q-form cannot represent shear, and in float32 not every angle near a half turn: it is omitted unless it
        // places every corner where the s-form does.
        let fits = geometry.matches(
            VolumeGeometry(shape: geometry.shape, affine: quaternion.affine),
            tolerance: spacing.min() / 100
        )
        var (qformCode, sformCode) = (forms.qformCode, forms.sformCode)
        if qformCode <= 0, sformCode <= 0 { (qformCode, sformCode) = (1, 1) }
        var written: NIfTIQuaternion? = quaternion
        if let stored = forms.qform, qformCode > 0, sformCode > 0 {
            written = NIfTIQuaternion(of: stored)
        } else {
            if leansSlightly { qformCode = max(qformCode, 1) }
            if !fits, sformCode <= 0 { sformCode = qformCode }
            if !fits, !leansSlightly { (written, qformCode) = (nil, 0) }
        }
        let sizes = written?.spacing ?? spacing
        let handedness = (written ?? quaternion).handedness
        for (index, value) in [handedness, sizes.x, sizes.y, sizes.z, 1, 1, 1, 1].enumerated() {
            bytes.putReal(value, at: layout.pixelDimensions, index)
        }
        bytes.putCode(max(qformCode, 0), at: layout.qformCode)
        bytes.putCode(max(sformCode, 0), at: layout.sformCode)
        if let written {
            for (index, value) in [written.b, written.c, written.d].enumerated() {
                bytes.putReal(value, at: layout.quaternion, index)
            }
            for index in 0..<3 { bytes.putReal(written.offset[index], at: layout.quaternionOffset, index) }
        }
        for (row, values) in affine.rows.prefix(3).enumerated() {
            for (column, value) in values.enumerated() {
                bytes.putReal(value, at: layout.sformRows, 4 * row + column)
            }
        }
    }

    /// Whether the axes are nearly, and not exactly, at right angles, as of slices whose positions are rounded.
    ///
    /// ITK refuses a file without q-form whose axes are more than 1e-4 away from right angles. It takes the q-form if there is
    /// one: the closest grid with right angles, which is then written in addition to the exact s-form that all others use. Grids that lean
    /// by more than DICOM volumes may have no such grid: what ITK would show lies too far away.
    private var leansSlightly: Bool {
        let affine = geometry.affine
        let axes = [affine.columnI, affine.columnJ, affine.columnK].map { $0 / length($0) }
        let most = max(abs(dot(axes[0], axes[1])), abs(dot(axes[0], axes[2])), abs(dot(axes[1], axes[2])))
        return most > 5e-5 && most <= Self.slightLean
    }

    /// The same first axis and first plane, with right angles: the third axis, to which positions of slices belong, is turned.
    private static func squared(_ affine: Affine) -> Affine {
        let i = affine.columnI / length(affine.columnI)
        let across = affine.columnJ - i * dot(affine.columnJ, i)
        let j = across / length(across)
        let k = cross(i, j) * (affine.determinant < 0 ? -1 : 1)
        return Affine(
            columnI: affine.columnI,
            columnJ: j * length(affine.columnJ),
            columnK: k * length(affine.columnK),
            translation: affine.translation
        )
    }

    /// The sine of 0.1°, which the stacks of DICOM volumes may be tilted by.
    private static let slightLean = 0.001746

    /// Size, code and content, padded with zeros to a multiple of 16.
    private static func block(_ content: VolumeFileHeader.Extension) -> [UInt8] {
        let size = (8 + content.bytes.count + 15) / 16 * 16
        var block = [UInt8](repeating: 0, count: size)
        for index in 0..<4 {
            block[index] = UInt8(size >> (8 * index) & 0xff)
            block[4 + index] = UInt8(content.code >> (8 * index) & 0xff)
        }
        block.replaceSubrange(8..<8 + content.bytes.count, with: content.bytes)
        return block
    }

    /// A header being filled in.
    private struct HeaderBytes {
        let layout: NIfTILayout
        private(set) var bytes: [UInt8]

        init(layout: NIfTILayout) {
            self.layout = layout
            bytes = [UInt8](repeating: 0, count: layout.firstDataOffset)
        }

        mutating func put(_ content: [UInt8], at offset: Int) {
            bytes.replaceSubrange(offset..<offset + content.count, with: content)
        }

        mutating func put<T: FixedWidthInteger>(_ value: T, at offset: Int) {
            for index in 0..<MemoryLayout<T>.size {
                bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index))
            }
        }

        mutating func putReal(_ value: Double, at offset: Int, _ index: Int = 0) {
            if layout.version == .nifti1 {
                put(Float(value).bitPattern, at: offset + 4 * index)
            } else {
                put(value.bitPattern, at: offset + 8 * index)
            }
        }

        mutating func putDimension(_ value: Int, _ index: Int) {
            if layout.version == .nifti1 {
                put(Int16(clamping: value), at: layout.dimensions + 2 * index)
            } else {
                put(Int64(value), at: layout.dimensions + 8 * index)
            }
        }

        mutating func putCode(_ value: Int, at offset: Int) {
            if layout.version == .nifti1 {
                put(Int16(clamping: value), at: offset)
            } else {
                put(Int32(clamping: value), at: offset)
            }
        }

        mutating func putUnits(_ value: Int) {
            if layout.version == .nifti1 {
                bytes[layout.units] = UInt8(value)
            } else {
                putCode(value, at: layout.units)
            }
        }
    }
}
