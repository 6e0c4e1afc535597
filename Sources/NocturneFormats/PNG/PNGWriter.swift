internal import CZlib
public import NocturneCore
public import NocturneSystem

/// Writes images as PNG (ISO/IEC 15948): 8-bit RGB with or without alpha, not interlaced, one IDAT chunk, no time and
/// no text, so an image always has the same bytes.
public enum PNGWriter {
    /// Writes the file, replacing an existing one. It is not flushed to the disk.
    ///
    /// Holds the whole image twice while it is compressed. Does not check a cancellation flag: intended for images of
    /// up to a few million pixels, which take a fraction of a second.
    /// - Parameter alpha: One opacity for each pixel in the order of `image`, from 0 (transparent) to 255 (opaque); nil
    ///   for an image without alpha. Colours are not multiplied by it.
    /// - Throws: ``PictureError``; the part of the file already written stays.
    public static func write(_ image: RGBImage, alpha: [UInt8]? = nil, to path: String) throws(PictureError) {
        try writePicture(encoded(image, alpha, for: path), to: path)
    }

    private static func encoded(_ image: RGBImage, _ alpha: [UInt8]?, for path: String) throws(PictureError) -> [UInt8]
    {
        let pixelCount = image.width * image.height
        guard image.width > 0, image.height > 0, image.samples.count == pixelCount * 3,
            pixelCount * (alpha == nil ? 3 : 4) + image.height < 1 << 30
        else {
            throw PictureError(
                .invalidImage,
                path: path,
                "\(image.width)×\(image.height) pixels in \(image.samples.count) samples cannot be written"
            )
        }
        if let alpha, alpha.count != pixelCount {
            throw PictureError(.invalidImage, path: path, "\(alpha.count) alpha values for \(pixelCount) pixels")
        }
        let channels = alpha == nil ? 3 : 4
        let samples = alpha.map { joined(image.samples, $0) } ?? image.samples
        // Differences from the left suit smooth images on a uniform background.
        let rows = File.rows(samples, of: image.width * channels, .left, pixel: channels)
        let header = File.header(width: image.width, height: image.height, alpha == nil ? .rgb : .rgba)
        // Level 3: writing an image should cost little compared with the work it shows, and it is small at any level.
        return try File.picture(header, rows, level: 3, for: path)
    }

    /// Red, green, blue and alpha of each pixel.
    private static func joined(_ colours: [UInt8], _ alpha: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: alpha.count * 4) { pixels, count in
            for place in alpha.indices {
                for channel in 0..<3 {
                    pixels.initializeElement(at: place * 4 + channel, to: colours[place * 3 + channel])
                }
                pixels.initializeElement(at: place * 4 + 3, to: alpha[place])
            }
            count = alpha.count * 4
        }
    }

    /// The common parts of PNG files.
    enum File {
        static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

        /// How a pixel is stored: the header's colour type.
        enum Color: UInt8 {
            case grey = 0
            case rgb = 2
            case palette = 3
            case rgba = 6
        }

        /// The first chunk: the only compression and filter methods, no interlacing.
        /// - Parameter bits: of a sample, 8 or 16.
        static func header(width: Int, height: Int, _ color: Color, bits: UInt8 = 8) -> [UInt8] {
            chunk("IHDR", bigEndian(width) + bigEndian(height) + [bits, color.rawValue, 0, 0, 0])
        }

        /// What is subtracted from a byte: nothing, the byte of the pixel to the left, or that of the row above.
        enum Filter: UInt8 {
            case none = 0
            case left = 1
            case up = 2
        }

        /// Each row preceded by its filter type.
        /// - Parameter pixel: the bytes of a pixel, for ``Filter/left``.
        static func rows(_ bytes: [UInt8], of rowBytes: Int, _ filter: Filter, pixel: Int = 1) -> [UInt8] {
            let distance = filter == .left ? pixel : rowBytes
            return [UInt8](unsafeUninitializedCapacity: bytes.count + bytes.count / rowBytes) { rows, count in
                bytes.withUnsafeBufferPointer { bytes in
                    for start in stride(from: 0, to: bytes.count, by: rowBytes) {
                        let unchanged =
                            switch filter {
                            case .none: rowBytes
                            case .left: pixel
                            case .up: start == 0 ? rowBytes : 0
                            }
                        rows.initializeElement(at: count, to: filter.rawValue)
                        for place in 0..<rowBytes {
                            let before = place < unchanged ? 0 : bytes[start + place - distance]
                            rows.initializeElement(at: count + 1 + place, to: bytes[start + place] &- before)
                        }
                        count += rowBytes + 1
                    }
                }
            }
        }

        /// A file of one image.
        /// - Parameter level: of zlib.
        static func picture(
            _ header: [UInt8],
            _ rows: [UInt8],
            level: Int32 = 6,
            for path: String
        ) throws(PictureError) -> [UInt8] {
            guard let content = ZlibStream.deflated(rows, level: level) else {
                throw PictureError(.outOfMemory, path: path, "no memory to compress the picture")
            }
            return signature + header + chunk("IDAT", content) + chunk("IEND", [])
        }

        /// Length, type, content, and the checksum of the latter two.
        static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            let typed = Array(type.utf8) + content
            return bigEndian(content.count) + typed + bigEndian(Int(crc32(0, typed, uInt(typed.count))))
        }

        /// Four bytes, most significant first.
        static func bigEndian(_ value: Int) -> [UInt8] {
            [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
        }
    }
}
