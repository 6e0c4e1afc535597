/// The offsets of the header fields, in NIfTI-1 and NIfTI-2. Source: nifti1.h and nifti2.h of the NIfTI-1 and NIfTI-2 standards.
///
/// Reals are float32 in NIfTI-1 and float64 in NIfTI-2, dimensions int16 and int64, codes int16 and int32.
struct NIfTILayout {
    let version: VolumeFileHeader.NIfTIVersion
    /// `sizeof_hdr`: its value shows the version, and its byte order that of the file.
    var headerSize: Int { byVersion(348, 540) }
    /// `magic`.
    var magic: Int { byVersion(344, 4) }
    /// `datatype`.
    var dataType: Int { byVersion(70, 12) }
    /// `bitpix`.
    var bitsPerVoxel: Int { byVersion(72, 14) }
    /// `dim`: the number of axes, then their lengths.
    var dimensions: Int { byVersion(40, 16) }
    /// `pixdim`: the handedness of the q-form, then the spacings.
    var pixelDimensions: Int { byVersion(76, 104) }
    /// `vox_offset`: a real number in NIfTI-1, an integer in NIfTI-2.
    var dataOffset: Int { byVersion(108, 168) }
    /// `scl_slope`.
    var slope: Int { byVersion(112, 176) }
    /// `scl_inter`.
    var intercept: Int { byVersion(116, 184) }
    /// `descrip`.
    var summary: Int { byVersion(148, 240) }
    /// `cal_max`, directly followed by `cal_min`.
    var displayRange: Int { byVersion(124, 192) }
    /// `qform_code`.
    var qformCode: Int { byVersion(252, 344) }
    /// `sform_code`.
    var sformCode: Int { byVersion(254, 348) }
    /// `quatern_b`, followed by c and d; a follows from them.
    var quaternion: Int { byVersion(256, 352) }
    /// `qoffset_x`, followed by y and z.
    var quaternionOffset: Int { byVersion(268, 376) }
    /// `srow_x`, followed by the other two rows, of four numbers each.
    var sformRows: Int { byVersion(280, 400) }
    /// `toffset`.
    var timeOffset: Int { byVersion(136, 224) }
    /// `xyzt_units`: one byte in NIfTI-1, four in NIfTI-2.
    var units: Int { byVersion(123, 500) }
    /// `intent_code`.
    var intentCode: Int { byVersion(68, 504) }

    /// Four bytes after the header; the first one is nonzero if extensions follow.
    static let extensionFlagLength = 4

    static let nifti1 = NIfTILayout(version: .nifti1)
    static let nifti2 = NIfTILayout(version: .nifti2)

    private func byVersion(_ one: Int, _ two: Int) -> Int { version == .nifti1 ? one : two }

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
