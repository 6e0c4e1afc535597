/// Why a file of some format could not be read or written. The description names the file and the fact.
///
/// Each format has its own codes and a short name: `typealias PictureError = FileFormatError<PictureErrorCode>`.
public struct FileFormatError<Code: FormatErrorCode>: SystemCallError, CodedError, Hashable, CustomStringConvertible {
    public let code: Code
    public let path: String
    /// The fact in a few words, with figures. Never a patient's data.
    public let detail: String
    public let systemCode: Int32?

    public init(_ code: Code, path: String, _ detail: String, systemCode: Int32? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.systemCode = systemCode
    }

    /// For a file that the system would not open or read.
    public init(_ code: Code, reading error: FileSystemError) {
        self.init(code, path: error.path, error.detail, systemCode: error.code)
    }

    /// For a file that the system would not create or write; names the system's code.
    public init(_ code: Code, writing error: FileSystemError) {
        self.init(code, path: error.path, "\(error.detail) (errno \(error.code))", systemCode: error.code)
    }

    public var faultCode: FaultCode { FaultCode(Code.domain, code.rawValue) }
    public var description: String { "\(path): \(detail)" }
}

/// The kinds of errors of one format.
public protocol FormatErrorCode: RawRepresentable<String>, Hashable, Sendable {
    /// The format's short name: the first part of the ``FaultCode``.
    static var domain: String { get }
}
