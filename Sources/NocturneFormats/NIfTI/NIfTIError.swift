import NocturneCore
public import NocturneSystem

/// Why a NIfTI file could not be read or written. The description names the file and the fact.
public struct NIfTIError: SystemCallError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault, worded as a fact.
    public enum Code: String, Hashable, Sendable, CaseIterable {
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
        /// The cancellation flag was raised.
        case cancelled
    }

    public let code: Code
    public let path: String
    public let detail: String
    public let systemCode: Int32?

    public init(_ code: Code, path: String, _ detail: String, systemCode: Int32? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.systemCode = systemCode
    }

    public var description: String { "\(path): \(detail)" }

    static func cancelled(_ path: String) -> NIfTIError { NIfTIError(.cancelled, path: path, "cancelled") }
}
