import NocturneCore
public import NocturneSystem

/// Why a mesh file could not be read or written. The description names the file and the fact.
public struct MeshFileError: SystemCallError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault, worded as a fact.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The content is something else, or text where binary was wanted.
        case notSTL
        /// The file ends before its header or its triangles do.
        case truncated
        /// The file is longer than its triangles are.
        case wrongTriangleCount
        /// A triangle names a vertex that is not there, or a corner is not finite.
        case invalidMesh
        /// The system would not open or read the file.
        case unreadable
        /// The system would not open or write the file.
        case cannotWrite
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
}
