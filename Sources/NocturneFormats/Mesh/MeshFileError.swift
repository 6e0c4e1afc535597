public import NocturneSystem

/// Why a mesh file could not be read or written.
public typealias MeshFileError = FileFormatError<MeshFileErrorCode>

/// The kind of a ``MeshFileError``, worded as a fact.
public enum MeshFileErrorCode: String, Hashable, Sendable, CaseIterable {
    /// The content is another format, or a kind of this one that is not read.
    case wrongFormat
    /// The file ends before its header or its triangles do.
    case truncated
    /// The file is longer than its triangles are.
    case wrongTriangleCount
    /// A triangle names a vertex that is not there, a corner is not finite, or a scene lacks the surface.
    case invalidMesh
    /// The system would not open or read the file.
    case unreadable
    /// The system would not open or write the file.
    case cannotWrite
}
