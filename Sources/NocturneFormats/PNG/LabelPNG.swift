public import NocturneCore
public import NocturneSystem

/// Label maps of pictures as PNG: one grey sample of 8 or 16 bits for each pixel, which is the label's value. Not interlaced, no
/// time and no text, so that a map always has the same bytes. Every program that reads PNG reads the values.
public enum LabelPNG {
    /// The bits of a sample for labels up to a value: 8 or 16.
    public static func bits(for largest: UInt16) -> Int { largest > 255 ? 16 : 8 }

    /// Writes the file, replacing an existing one. It is not flushed to the disk.
    ///
    /// Holds the map twice while it is compressed.
    /// - Parameters:
    ///   - labels: `[y][x]`, width × height values.
    ///   - bits: of a sample: 8 or 16. With 8, no label is above 255.
    /// - Throws: ``PictureError``; the part of the file already written stays.
    public static func write(
        _ labels: FrozenVoxels<UInt16>,
        width: Int,
        height: Int,
        bits: Int,
        to path: String
    ) throws(PictureError) {
        precondition(bits == 8 || bits == 16, "samples of one or two bytes")
        let bytesInRow = width * bits / 8
        // One chunk has all rows: less than 1 GiB, half of what a chunk may have.
        guard width > 0, height > 0, labels.count == width * height, (bytesInRow + 1) * height < 1 << 30 else {
            throw PictureError(.invalidImage, path: path, "\(width)×\(height) pixels cannot be written")
        }
        // The difference from the row above is 0 nearly everywhere.
        let rows = PNGWriter.File.rows(samples(labels, bits: bits), of: bytesInRow, .up)
        let header = PNGWriter.File.header(width: width, height: height, .grey, bits: UInt8(bits))
        try writePicture(PNGWriter.File.picture(header, rows, for: path), to: path)
    }

    /// Peak memory of writing, in bytes.
    public static func writingBytes(width: Int, height: Int, bits: Int) -> Int {
        3 * (width * bits / 8 + 1) * height + (1 << 20)
    }

    /// The bytes of the samples, the high one first.
    private static func samples(_ labels: FrozenVoxels<UInt16>, bits: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: labels.count * bits / 8) { bytes, count in
            labels.withUnsafeBufferPointer { labels in
                for label in labels {
                    if bits == 16 {
                        bytes.initializeElement(at: count, to: UInt8(label >> 8))
                        count += 1
                    }
                    bytes.initializeElement(at: count, to: UInt8(truncatingIfNeeded: label))
                    count += 1
                }
            }
        }
    }

    // MARK: Reading

    /// A label map that was read.
    public struct Map: Sendable {
        /// In pixels.
        public let width: Int
        /// In pixels.
        public let height: Int
        /// Of a sample: 8 or 16.
        public let bits: Int
        /// `[y][x]`.
        public let labels: [UInt16]
    }

    /// Reads a file as ``write(_:width:height:bits:to:)`` makes it.
    /// - Parameter pixels: the most that the map may have.
    /// - Throws: ``PictureError`` for any other file, and for one that is damaged.
    public static func read(_ path: String, pixels: Int) throws(PictureError) -> Map {
        func damaged(_ detail: String) -> PictureError { PictureError(.invalidImage, path: path, detail) }
        let file: [UInt8]
        do {
            file = try FileSystem.read(path, limit: 3 * pixels + (1 << 20))
        } catch {
            throw PictureError(.invalidImage, reading: error)
        }
        var place = PNGWriter.File.signature.count
        guard file.starts(with: PNGWriter.File.signature) else { throw damaged("is not a PNG") }
        // A chunk is rebuilt from its content and compared, which checks its type and its CRC in one step.
        func chunk(_ type: String) throws(PictureError) -> ArraySlice<UInt8> {
            guard place + 12 <= file.count else { throw damaged("ends before its \(type)") }
            let length = Self.number(file[place..<place + 4])
            guard length <= file.count - place - 12 else { throw damaged("ends within its \(type)") }
            let content = file[place + 8..<place + 8 + length]
            guard PNGWriter.File.chunk(type, Array(content)).elementsEqual(file[place..<place + 12 + length]) else {
                throw damaged("its \(type) is missing or damaged")
            }
            place += 12 + length
            return content
        }
        let header = Array(try chunk("IHDR"))
        // Width, height, bits; then colour type grey, deflate, adaptive filters, not interlaced.
        guard header.count == 13, [8, 16].contains(header[8]), Array(header[9...]) == [0, 0, 0, 0] else {
            throw damaged("is not a grey PNG of 8 or 16 bits without interlacing")
        }
        let (width, height) = (Self.number(header[0..<4]), Self.number(header[4..<8]))
        let bits = Int(header[8])
        guard width > 0, height > 0, width <= pixels / height else { throw damaged("has \(width)×\(height) pixels") }
        let content = Array(try chunk("IDAT"))
        guard let rows = ZlibStream.inflated(content, expected: (width * bits / 8 + 1) * height) else {
            throw damaged("its pixels are damaged")
        }
        guard let labels = unfiltered(rows, width: width, height: height, isWide: bits == 16) else {
            throw damaged("its rows have another filter than the difference from the row above")
        }
        _ = try chunk("IEND")
        return Map(width: width, height: height, bits: bits, labels: labels)
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func unfiltered(_ rows: [UInt8], width: Int, height: Int, isWide: Bool) -> [UInt16]? {
        var labels = [UInt16](repeating: 0, count: width * height)
        var place = 0
        for y in 0..<height {
            guard rows[place] == 2 else { return nil }
            place += 1
            for target in y * width..<(y + 1) * width {
                let above = y > 0 ? labels[target - width] : 0
                var high: UInt8 = 0
                if isWide {
                    high = rows[place] &+ UInt8(above >> 8)
                    place += 1
                }
                labels[target] = UInt16(high) << 8 | UInt16(rows[place] &+ UInt8(truncatingIfNeeded: above))
                place += 1
            }
        }
        return labels
    }
}
