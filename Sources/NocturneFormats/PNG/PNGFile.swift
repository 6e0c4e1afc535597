internal import CZlib

/// The common parts of PNG files.
enum PNGFile {
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
