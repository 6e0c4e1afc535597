public import NocturneSystem

/// Why a PDF file could not be written.
public typealias PDFError = FileFormatError<PDFErrorCode>

/// The kind of a ``PDFError``, with a description.
public enum PDFErrorCode: String, FormatErrorCode, CaseIterable {
    public static let domain = "pdf"

    /// The library could not draw, for instance for lack of memory.
    case cannotDraw
    /// The system could not open or write the file.
    case cannotWrite
}
