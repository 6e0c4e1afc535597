public import NocturneSystem

/// Why a PNG file could not be written.
public typealias PNGError = FileFormatError<PNGErrorCode>

/// The kind of a ``PNGError``, with a description.
public enum PNGErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "png"

    /// The image has no pixels, a number of samples that does not match its size, or more samples than one chunk can
    /// hold.
    case invalidImage
    /// There is not enough memory for the compressed bytes.
    case outOfMemory
    /// The system could not open or write the file.
    case cannotWrite
}
