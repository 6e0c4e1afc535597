public import NocturneSystem

/// Why a PDF file could not be written.
public typealias PDFError = FileFormatError<PDFErrorCode>

/// The kind of a ``PDFError``, worded as a fact.
public enum PDFErrorCode: String, Hashable, Sendable, CaseIterable {
    /// The library could not draw, for instance for want of memory.
    case cannotDraw
    /// The system would not open or write the file.
    case cannotWrite
}
