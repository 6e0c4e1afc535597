import NocturneCore
public import NocturneSystem

/// Why a PDF file could not be written. The description names the file and the fact.
public struct PDFError: SystemCallError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault, worded as a fact.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The library could not draw, for instance for want of memory.
        case cannotDraw
        /// The system would not open or write the file.
        case cannotWrite
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
