import NocturneCore
public import NocturneSystem

/// Why a PNG file could not be written. The description names the file and the fact.
public struct PNGError: SystemCallError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault, worded as a fact.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// No pixels, more samples than the image's size asks for or fewer, or more of them than one chunk holds.
        case invalidImage
        /// No memory for the compressed bytes.
        case outOfMemory
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
