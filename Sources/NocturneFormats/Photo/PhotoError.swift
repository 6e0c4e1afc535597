public import NocturneSystem

/// Why a picture could not be read; the detail is the decoder's message where it gave one.
public typealias PhotoError = FileFormatError<PhotoErrorCode>

/// The kind of a ``PhotoError``, with a description.
public enum PhotoErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "photo"

    /// The system could not open or read the file.
    case cannotOpen
    /// A read error occurred in the middle of the file.
    case cannotRead
    /// The content is neither JPEG nor PNG nor TIFF, whatever the file name.
    case notAPicture
    /// Refused before anything was allocated: more pixels or bytes than the limits allow.
    case tooLarge
    /// Damaged or truncated.
    case corrupt
    /// A type of picture that is not supported.
    case unsupported
    case outOfMemory
}
