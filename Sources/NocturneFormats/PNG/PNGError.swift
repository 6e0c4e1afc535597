public import NocturneSystem

/// Why a PNG file could not be written.
public typealias PNGError = FileFormatError<PNGErrorCode>

/// The kind of a ``PNGError``, worded as a fact.
public enum PNGErrorCode: String, Hashable, Sendable, CaseIterable {
    /// No pixels, more samples than the image's size asks for or fewer, or more of them than one chunk holds.
    case invalidImage
    /// No memory for the compressed bytes.
    case outOfMemory
    /// The system would not open or write the file.
    case cannotWrite
}
