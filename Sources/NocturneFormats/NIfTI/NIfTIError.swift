public import NocturneSystem

/// Why a NIfTI file could not be read or written.
public typealias NIfTIError = FileFormatError<NIfTIErrorCode>

/// The kind of a ``NIfTIError``, worded as a fact.
public enum NIfTIErrorCode: String, Hashable, Sendable, CaseIterable {
    /// The content is something else.
    case notNIfTI
    /// The file ends before its header, its voxels or its checksum do.
    case truncated
    /// Complex, RGB, 128-bit and unknown voxel types.
    case unsupportedDataType
    /// A single slice, or more than one volume.
    case notThreeDimensional
    /// A spacing that is zero or not finite.
    case invalidSpacing
    /// Sizes below one, or more voxels than any volume has.
    case invalidDimensions
    /// A voxel-to-patient map that is singular or not finite.
    case invalidAffine
    /// A slope that holds with an intercept that is not finite.
    case invalidScaling
    /// The voxels would begin inside the header, or at no place at all.
    case invalidDataOffset
    /// The gzip stream is damaged, or its checksum disagrees.
    case corruptCompression
    /// A voxel of a label map is not an integer in 0...65535.
    case notLabels
    /// The system would not open or read the file.
    case unreadable
    /// The system would not open or write the file.
    case cannotWrite
    /// No memory for the voxels.
    case outOfMemory
}
