internal import CPhoto
public import NocturneCore
public import NocturneSystem

/// Writes images as baseline JPEG (ISO/IEC 10918-1) with libjpeg-turbo: no time and no text, so an image always has the same
/// bytes with one version of the library.
public enum JPEGWriter {
    /// Writes the file, replacing an existing one. It is not flushed to the disk.
    ///
    /// Holds the compressed image in memory. Does not check a cancellation flag: takes about 5 ms a million pixels.
    /// - Parameter quality: 1 to 100, as libjpeg counts it. Colours are stored at half the resolution in both directions.
    /// - Throws: ``PictureError``; the part of the file already written stays.
    public static func write(_ image: RGBImage, quality: Int, to path: String) throws(PictureError) {
        try writePicture(encode(image, quality: quality, for: path), to: path)
    }

    /// The bytes of such a file.
    /// - Parameter path: of the file that will contain them, for messages.
    static func encode(_ image: RGBImage, quality: Int, for path: String) throws(PictureError) -> [UInt8] {
        guard image.width > 0, image.height > 0, image.samples.count == image.width * image.height * 3 else {
            throw PictureError(
                .invalidImage,
                path: path,
                "\(image.width)×\(image.height) pixels in \(image.samples.count) samples cannot be written"
            )
        }
        var encoded = cphoto_jpeg_bytes()
        defer { cphoto_jpeg_release(&encoded) }
        let code = image.samples.withUnsafeBufferPointer {
            cphoto_jpeg_encode($0.baseAddress, image.width, image.height, Int32(min(max(quality, 1), 100)), &encoded)
        }
        guard code == CPHOTO_OK else {
            let message = withUnsafeBytes(of: encoded.message) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            throw PictureError(.invalidImage, path: path, "cannot be written as JPEG: \(message)")
        }
        return Array(UnsafeBufferPointer(start: encoded.bytes, count: encoded.count))
    }
}
