public import NocturneSystem

/// Why a mesh file could not be read or written.
public typealias MeshFileError = FileFormatError<MeshFileErrorCode>

/// The kind of a ``MeshFileError``, with a description.
public enum MeshFileErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "mesh"

    /// The content is another format, or an unsupported variant of this format.
    case wrongFormat
    /// The file ends before its header or its triangles do.
    case truncated
    /// The file is longer than its triangles require.
    case wrongTriangleCount
    /// A triangle refers to a missing vertex, a corner is not finite, or a scene lacks the surface.
    case invalidMesh
    /// The system could not open or read the file.
    case unreadable
    /// The system could not open or write the file.
    case cannotWrite
}
