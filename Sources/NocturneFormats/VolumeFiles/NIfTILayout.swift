/// The offsets of the header fields. Source: nifti1.h and nifti2.h of the NIfTI-1 and NIfTI-2 standards.
///
/// Reals are float32 in NIfTI-1 and float64 in NIfTI-2, dimensions int16 and int64, codes int16 and int32.
struct NIfTILayout {
    let version: VolumeFileHeader.NIfTIVersion
    /// `sizeof_hdr`: its value shows the version, and its byte order that of the file.
    let headerSize: Int
    /// `magic`.
    let magic: Int
    /// `datatype`.
    let dataType: Int
    /// `bitpix`.
    let bitsPerVoxel: Int
    /// `dim`: the number of axes, then their lengths.
    let dimensions: Int
    /// `pixdim`: the handedness of the q-form, then the spacings.
    let pixelDimensions: Int
    /// `vox_offset`: a real number in NIfTI-1, an integer in NIfTI-2.
    let dataOffset: Int
    /// `scl_slope`.
    let slope: Int
    /// `scl_inter`.
    let intercept: Int
    /// `descrip`.
    let summary: Int
    /// `cal_max`, directly followed by `cal_min`.
    let displayRange: Int
    /// `qform_code`.
    let qformCode: Int
    /// `sform_code`.
    let sformCode: Int
    /// `quatern_b`, followed by c and d; a follows from them.
    let quaternion: Int
    /// `qoffset_x`, followed by y and z.
    let quaternionOffset: Int
    /// `srow_x`, followed by the other two rows, of four numbers each.
    let sformRows: Int
    /// `toffset`.
    let timeOffset: Int
    /// `xyzt_units`: one byte in NIfTI-1, four in NIfTI-2.
    let units: Int
    /// `intent_code`.
    let intentCode: Int

    /// Four bytes after the header; the first one is nonzero if extensions follow.
    static let extensionFlagLength = 4

    static let nifti1 = NIfTILayout(
        version: .nifti1,
        headerSize: 348,
        magic: 344,
        dataType: 70,
        bitsPerVoxel: 72,
        dimensions: 40,
        pixelDimensions: 76,
        dataOffset: 108,
        slope: 112,
        intercept: 116,
        summary: 148,
        displayRange: 124,
        qformCode: 252,
        sformCode: 254,
        quaternion: 256,
        quaternionOffset: 268,
        sformRows: 280,
        timeOffset: 136,
        units: 123,
        intentCode: 68
    )

    static let nifti2 = NIfTILayout(
        version: .nifti2,
        headerSize: 540,
        magic: 4,
        dataType: 12,
        bitsPerVoxel: 14,
        dimensions: 16,
        pixelDimensions: 104,
        dataOffset: 168,
        slope: 176,
        intercept: 184,
        summary: 240,
        displayRange: 192,
        qformCode: 344,
        sformCode: 348,
        quaternion: 352,
        quaternionOffset: 376,
        sformRows: 400,
        timeOffset: 224,
        units: 500,
        intentCode: 504
    )

    static func of(_ version: VolumeFileHeader.NIfTIVersion) -> NIfTILayout { version == .nifti1 ? .nifti1 : .nifti2 }

    /// The smallest offset of the voxels in a single file.
    var firstDataOffset: Int { headerSize + NIfTILayout.extensionFlagLength }

    /// The bytes of a header and their byte order, read field by field.
    struct Fields {
        let bytes: [UInt8]
        let layout: NIfTILayout
        let byteOrder: VolumeFileHeader.ByteOrder

        func integer<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) -> T {
            let stored = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
            return byteOrder == .little ? T(littleEndian: stored) : T(bigEndian: stored)
        }

        func real(at offset: Int, index: Int = 0) -> Double {
            layout.version == .nifti1
                ? Double(Float(bitPattern: integer(UInt32.self, at: offset + 4 * index)))
                : Double(bitPattern: integer(UInt64.self, at: offset + 8 * index))
        }

        func dimension(_ index: Int) -> Int {
            layout.version == .nifti1
                ? Int(integer(Int16.self, at: layout.dimensions + 2 * index))
                : Int(integer(Int64.self, at: layout.dimensions + 8 * index))
        }

        /// A code field: form, intent or units.
        func code(at offset: Int) -> Int {
            layout.version == .nifti1 ? Int(integer(Int16.self, at: offset)) : Int(integer(Int32.self, at: offset))
        }

        var dataTypeCode: Int { Int(integer(Int16.self, at: layout.dataType)) }

        var units: Int { layout.version == .nifti1 ? Int(bytes[layout.units]) : code(at: layout.units) }
    }
}
