#if canImport(Glibc)
    public import Glibc
#endif

/// A file operation failed; says which file and the system's words.
public struct FileSystemError: SystemCallError, Sendable, CustomStringConvertible {
    public let operation: String
    public let path: String
    public let code: Int32

    public init(operation: String, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    public var systemCode: Int32? { code }
    public var description: String { "\(path): cannot \(operation): \(errnoText(code))" }
}

/// The system's message for an `errno` value.
public func errnoText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
