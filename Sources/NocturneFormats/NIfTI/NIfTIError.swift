public import NocturneSystem

/// Why a NIfTI file could not be read or written.
public typealias NIfTIError = FileFormatError<NIfTIErrorCode>

/// The kind of a ``NIfTIError``, with a description.
public enum NIfTIErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "nifti"

    /// The content is not NIfTI.
    case notNIfTI
    /// The file ends before its header, its voxels or its checksum do.
    case truncated
    /// Complex, RGB, 128-bit and unknown voxel types are not supported.
    case unsupportedDataType
    /// A single slice, more than four dimensions, vectors or spectra; or a time series where one volume is expected.
    case notThreeDimensional
    /// A spacing that is zero or not finite.
    case invalidSpacing
    /// Sizes below one, or more voxels than any volume has.
    case invalidDimensions
    /// A voxel-to-patient map that is singular or not finite.
    case invalidAffine
    /// Neither a q-form nor an s-form: the patient orientation is not stated.
    case missingOrientation
    /// A scaling is stated whose intercept is not finite.
    case invalidScaling
    /// The stated start of the voxels is inside the header or is not a valid offset.
    case invalidDataOffset
    /// The gzip stream is damaged, or its checksum disagrees.
    case corruptCompression
    /// A voxel of a label map is not an integer in 0...65535.
    case notLabels
    /// The system could not open or read the file.
    case unreadable
    /// The system could not open or write the file.
    case cannotWrite
    /// There is not enough memory for the voxels.
    case outOfMemory
}
