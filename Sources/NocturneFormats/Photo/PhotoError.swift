import NocturneCore
public import NocturneSystem

/// Why a picture could not be read. The description names the file and the fact, in the decoder's words where it spoke.
public struct PhotoError: SystemCallError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of fault, worded as a fact.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The system would not open or read the file.
        case cannotOpen
        /// The system stopped giving bytes in the middle.
        case cannotRead
        /// The content is neither JPEG nor PNG nor TIFF, whatever the name says.
        case notAPicture
        /// Refused before anything was allocated: more pixels or bytes than the limits allow.
        case tooLarge
        /// Broken or cut short.
        case corrupt
        /// A kind of picture that is not decoded.
        case unsupported
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
}
