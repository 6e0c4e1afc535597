internal import CPhoto
public import NocturneSystem

/// Why a TIFF could not be read as a volume, or written.
public typealias TIFFStackError = FileFormatError<TIFFStackErrorCode>

/// The kind of a ``TIFFStackError``, with a description.
public enum TIFFStackErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "tiff"

    /// The content is not TIFF.
    case notTIFF
    /// The system could not open or read the file.
    case unreadable
    /// Damaged or truncated, or a header that the file cannot fulfil.
    case corrupt
    /// Colours or channels within a page, pages of different sizes or types, other types of samples, or a compression that
    /// is not supported.
    case unsupported
    /// A single page, or pages along more than one axis, such as channels and slices.
    case notThreeDimensional
    /// The file with the spacing cannot be read, or does not have three numbers above 0.
    case invalidSpacing
    /// The system could not create or write the file.
    case cannotWrite
    /// There is not enough memory.
    case outOfMemory
}

extension FileFormatError<TIFFStackErrorCode> {
    /// - Throws: the error of a decoder's code, with its message; nothing for `CPHOTO_OK`.
    static func check(
        _ code: cphoto_code,
        path: String,
        place: String = "",
        message: String,
        systemCode: Int32
    ) throws(TIFFStackError) {
        switch code {
        case CPHOTO_OK: return
        case CPHOTO_NOT_OPENED:
            throw TIFFStackError(.unreadable, path: path, "cannot be opened: \(message)", systemCode: systemCode)
        case CPHOTO_NOT_READ:
            throw TIFFStackError(.unreadable, path: path, "\(place)cannot be read: \(message)", systemCode: systemCode)
        case CPHOTO_UNSUPPORTED: throw TIFFStackError(.unsupported, path: path, place + message)
        case CPHOTO_NO_MEMORY: throw TIFFStackError(.outOfMemory, path: path, "no memory to read a page")
        default: throw TIFFStackError(.corrupt, path: path, "\(place)is damaged: \(message)")
        }
    }
}
