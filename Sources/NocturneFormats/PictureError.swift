public import NocturneSystem

/// Why a PNG, JPEG or PDF picture could not be written.
public typealias PictureError = FileFormatError<PictureErrorCode>

/// The kind of a ``PictureError``, with a description.
public enum PictureErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of pictures that are written; those that are read have `photo`.
    public static let domain = "picture"

    /// The image has no pixels, a number of samples that does not match its size, or more samples than one chunk can
    /// hold.
    case invalidImage
    /// There is not enough memory for the compressed bytes.
    case outOfMemory
    /// The system could not open or write the file.
    case cannotWrite
}

/// Writes the file of a picture, replacing an existing one. It is not flushed to the disk.
/// - Throws: ``PictureError`` with the system's reason, also of closing the file; what was written stays.
func writePicture(_ bytes: [UInt8], to path: String) throws(PictureError) {
    do {
        var output = try FileDescriptor(creating: path)
        try output.write(bytes)
        try output.close()
    } catch {
        throw PictureError(.cannotWrite, writing: error)
    }
}
