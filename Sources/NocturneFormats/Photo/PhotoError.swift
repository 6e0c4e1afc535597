public import NocturneSystem

/// Why a picture could not be read; the detail is in the decoder's words where it gave any.
public typealias PhotoError = FileFormatError<PhotoErrorCode>

/// The kind of a ``PhotoError``, worded as a fact.
public enum PhotoErrorCode: String, Hashable, Sendable, CaseIterable {
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
}
