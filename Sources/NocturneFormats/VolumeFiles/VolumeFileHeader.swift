public import NocturneCore
public import NocturneSystem

/// The voxel types that Nocturne reads, with NIfTI's codes.
public enum StoredVoxelType: Int, Hashable, Sendable, CaseIterable {
    case uint8 = 2
    case int16 = 4
    case int32 = 8
    case float32 = 16
    case float64 = 64
    case int8 = 256
    case uint16 = 512
    case uint32 = 768
    case int64 = 1024
    case uint64 = 1280

    /// The size of a stored voxel: 1, 2, 4 or 8.
    public var bytesPerVoxel: Int {
        switch self {
        case .uint8, .int8: 1
        case .int16, .uint16: 2
        case .int32, .uint32, .float32: 4
        case .int64, .uint64, .float64: 8
        }
    }

    /// The names of the type codes that Nocturne does not read.
    static func name(ofCode code: Int) -> String {
        if let known = StoredVoxelType(rawValue: code) { return "\(known)" }
        return switch code {
        case 0: "unknown"
        case 1: "binary"
        case 32: "complex64"
        case 128: "RGB24"
        case 1536: "float128"
        case 1792: "complex128"
        case 2048: "complex256"
        case 2304: "RGBA32"
        default: "code \(code)"
        }
    }
}

extension VolumeFileHeader {
    /// The version of the header: 348 bytes in NIfTI-1, 540 in NIfTI-2.
    public enum NIfTIVersion: Int, Hashable, Sendable, CaseIterable {
        case nifti1 = 1
        case nifti2 = 2
    }

    /// The byte order of header and voxels.
    public enum ByteOrder: String, Hashable, Sendable, CaseIterable {
        case little
        case big
    }

    /// A block of foreign content stored with the header.
    public struct Extension: Hashable, Sendable {
        /// The program that defines the content: 4 AFNI, 6 comment, 30 Caret and Connectome Workbench.
        public let code: Int
        /// The content, including the zeros that pad it to a multiple of 16.
        public let bytes: [UInt8]

        /// - Parameter code: as registered for NIfTI, such as 30 for Connectome Workbench.
        public init(code: Int, bytes: [UInt8]) {
            self.code = code
            self.bytes = bytes
        }
    }
}

/// The values that a header states to be displayed as black and white; `upper` is the larger one.
public struct DisplayRange: Codable, Hashable, Sendable {
    /// The value that is displayed black.
    public let lower: Double
    /// The value that is displayed white.
    public let upper: Double

    /// - Parameters:
    ///   - lower: displayed black.
    ///   - upper: displayed white.
    public init(lower: Double, upper: Double) { (self.lower, self.upper) = (lower, upper) }
}

/// The checked header of a file with one volume or a time series: its shape, spacing, affine and type are usable.
///
/// **Geometry** is determined as in nibabel: from the s-form when its code is above 0, else from the q-form when its
/// code is above 0 (where one of them is singular or not finite, from the other one, as ITK does), else from the spacing
/// alone: i towards the left of the patient, j forwards, k upwards, with the origin in the middle of the volume
/// (``hasAssumedOrientation``). ITK prefers the q-form in some files that have both;
/// ``formsDisagree`` is true when that matters. Metres and micrometres are converted to millimetres, also in ``qform``
/// and ``sform``.
///
/// The header of an NRRD or MetaImage file is that of the NIfTI file with the same content, whose forms agree.
public struct VolumeFileHeader: Hashable, Sendable {
    /// The format of the file.
    public let format: VolumeFileFormat
    /// The version of a NIfTI header; nil for other formats.
    public let version: NIfTIVersion?
    /// The byte order of header and voxels.
    public let byteOrder: ByteOrder
    /// The type of the stored voxels.
    public let dataType: StoredVoxelType
    /// A value is `stored * scalingSlope + scalingIntercept`. 1 and 0 when the file specifies no scaling.
    public let scalingSlope: Double
    /// See ``scalingSlope``.
    public let scalingIntercept: Double
    /// A slope that is not a number or infinite, in place of which 1 is used.
    let unusableSlope: Double?
    /// Shape (i fastest) and the map from voxel indices to RAS+ millimetres.
    public let geometry: VolumeGeometry
    /// The fourth axis; nil for a file with one volume.
    public let time: TimeSeries?
    /// The field `pixdim` in millimetres along i, j and k, in single precision: ITK, and therefore nnU-Net, uses it as
    /// the spacing whatever the affine states.
    public let pixelSpacing: SIMD3<Double>
    /// The fields `cal_min` and `cal_max`: the values displayed as black and white; nil if they are not set.
    public let displayRange: DisplayRange?
    /// The field `qform_code`: 0 for no q-form, 1 for scanner coordinates.
    public let qformCode: Int
    /// The field `sform_code`: 0 for no s-form.
    public let sformCode: Int
    /// The q-form in millimetres; nil when its code is 0, or it cannot be used.
    public let qform: Affine?
    /// The s-form in millimetres; nil when its code is 0, or it cannot be used.
    public let sform: Affine?
    /// Why one of two forms cannot be used; the other one is.
    let unusableForm: String?
    /// b² + c² + d² of the q-form where it is more than 1, beyond rounding; the quaternion is divided by its length.
    let longQuaternion: Double?
    /// The field `intent_code`; 1002 is a label map.
    public let intentCode: Int
    /// The unit byte as stored: space in the lower three bits, time above.
    public let unitsCode: Int
    /// Blocks after the header, in the order of the file.
    public let extensions: [Extension]
    /// The labels that the header names, by value; empty where it names none.
    public let labels: [UInt16: Label]
    /// The offset of the voxels in ``dataPath``, counted after decompression.
    public let dataOffset: Int
    /// The file that holds the voxels: the file itself, or the image of a pair.
    public let dataPath: String

    /// The names of ``labels``, by value.
    public var labelNames: [UInt16: String] { labels.mapValues(\.name) }

    /// The number of voxels along i, j and k.
    public var shape: VolumeShape { geometry.shape }

    /// The size of the voxels of one volume in the file, before compression.
    public var volumeByteCount: Int { shape.count * dataType.bytesPerVoxel }

    /// The size of the voxels in the file, before compression.
    public var storedByteCount: Int { volumeByteCount * (time?.count ?? 1) }

    /// Whether values differ from the stored numbers.
    public var hasScaling: Bool { scalingSlope != 1 || scalingIntercept != 0 }

    /// Whether both forms are given and differ by more than a hundredth of the smallest spacing at some corner.
    public var formsDisagree: Bool {
        guard let qform, let sform else { return false }
        let smallest = geometry.spacing.min()
        return !VolumeGeometry(shape: shape, affine: sform)
            .matches(VolumeGeometry(shape: shape, affine: qform), tolerance: smallest / 100)
    }

    /// Whether the file states neither form, so that the orientation is assumed as nibabel does.
    public var hasAssumedOrientation: Bool { qformCode <= 0 && sformCode <= 0 }

    /// Remarks about the header for the result.
    public var notes: [Note] {
        let slope = unusableSlope.map {
            Note("nifti.unusableSlope", "the intensity slope is \($0): the stored numbers are used without it")
        }
        let quaternion = (sform == nil && qform != nil ? longQuaternion : nil).map {
            Note(
                "nifti.longQuaternion",
                "b²+c²+d² of the q-form's quaternion is \($0.roundedForResults()), not at most 1: it is divided by its length. Check "
                    + "the orientation"
            )
        }
        return placementNotes + [quaternion, slope].compactMap(\.self)
    }

    private var placementNotes: [Note] {
        if hasAssumedOrientation, format != .nifti {
            let text: Sentence =
                "the header does not state the patient orientation: it is assumed as in ITK (axes to the left, back and up)"
            return [Note("nifti.orientationAssumed", text)]
        }
        if hasAssumedOrientation {
            return [
                Note(
                    "nifti.orientationAssumed",
                    "neither a q-form nor an s-form: the orientation is assumed as in nibabel (first axis to the left, origin "
                        + "in the middle)"
                )
            ]
        }
        if let unusableForm {
            let used = sform == nil ? "q" : "s"
            return [Note("nifti.unusableForm", "\(own: unusableForm); the \(own: used)-form is used")] + spacingNotes
        }
        return (formsDisagree ? [Note("nifti.formsDisagree", "q-form and s-form disagree; the s-form is used")] : [])
            + spacingNotes
    }

    /// One where the field `pixdim` is another voxel size than that of the affine, by more than the rounding of a file.
    private var spacingNotes: [Note] {
        let differs = (0..<3).contains { abs(pixelSpacing[$0] - geometry.spacing[$0]) > geometry.spacing[$0] / 1000 }
        guard format == .nifti, differs else { return [] }
        func size(_ spacing: SIMD3<Double>) -> String {
            (0..<3).map { "\(spacing[$0].roundedForResults())" }.joined(separator: "×") + " mm"
        }
        return [
            Note(
                "nifti.spacingsDisagree",
                "pixdim states voxels of \(own: size(pixelSpacing)), the affine of \(own: size(geometry.spacing)): measures and "
                    + "meshes follow the affine; a model that reads the header's spacing, as nnU-Net does, takes pixdim. Correct the "
                    + "header, unless the affine maps to a template"
            )
        ]
    }
}

/// The forms of the image from which a file is made.
public struct NIfTIForms: Hashable, Sendable {
    /// The meaning of the q-form, 0 for none.
    public var qformCode: Int
    /// The meaning of the s-form, 0 for none.
    public var sformCode: Int
    /// The q-form of the image, which is kept next to an s-form, also where the two disagree: ITK takes the q-form of most images,
    /// other programs the s-form, and each finds the new file where it finds the image.
    public var qform: Affine?

    /// - Parameters:
    ///   - qformCode: 0 for none, 1 for scanner coordinates, 2 aligned, 3 Talairach, 4 MNI 152.
    ///   - sformCode: likewise.
    ///   - qform: in mm; nil where the image has none.
    public init(qformCode: Int, sformCode: Int, qform: Affine? = nil) {
        self.qformCode = qformCode
        self.sformCode = sformCode
        self.qform = qform
    }

    /// The forms of a file that was read.
    public init(of header: VolumeFileHeader) {
        self.init(qformCode: header.qformCode, sformCode: header.sformCode, qform: header.qform)
    }

    /// Both in scanner coordinates.
    static let scanner = NIfTIForms(qformCode: 1, sformCode: 1)
}

/// Why a NIfTI, NRRD or MetaImage file could not be read or written.
public typealias VolumeFileError = FileFormatError<VolumeFileErrorCode>

/// The kind of a ``VolumeFileError``, with a description.
public enum VolumeFileErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of NRRD and MetaImage too, whose headers are read as those of NIfTI.
    public static let domain = "nifti"

    /// The content is not NIfTI; or not NRRD or MetaImage, as the file's name states.
    case notNIfTI
    /// The file ends before its header, its voxels or its checksum do.
    case truncated
    /// A field of an NRRD or MetaImage header is missing, occurs twice, or has no valid value.
    case invalidHeader
    /// The voxels of an NRRD or MetaImage file are stored as text, with another compression than zlib's, in several files, or in
    /// another folder than their header.
    case unsupportedStorage
    /// Complex, RGB, 128-bit and unknown voxel types are not supported.
    case unsupportedDataType
    /// A single axis, more than four dimensions (three in NRRD and MetaImage), vectors or spectra; or a time series where one volume is
    /// expected.
    case notThreeDimensional
    /// A spacing that is zero or not finite.
    case invalidSpacing
    /// Sizes below one, or more voxels than any volume has.
    case invalidDimensions
    /// A voxel-to-patient map that is singular or not finite.
    case invalidAffine
    /// The patient orientation is not stated: neither a q-form nor an s-form in NIfTI, no anatomical space or directions in NRRD, no
    /// matrix in MetaImage.
    case missingOrientation
    /// A scaling is stated whose intercept is not finite.
    case invalidScaling
    /// The stated start of the voxels is inside the header or is not a valid offset.
    case invalidDataOffset
    /// The gzip stream is damaged, or its checksum disagrees.
    case corruptCompression
    /// A voxel of a label map is not within 0.001 of an integer in 0...65535.
    case notLabels
    /// The system could not open or read the file.
    case unreadable
    /// The system could not open or write the file.
    case cannotWrite
    /// There is not enough memory for the voxels.
    case outOfMemory
}
