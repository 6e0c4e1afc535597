public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Label maps as TIFF: one page for each slice, one grey sample of 8 or 16 bits for each voxel, which is the label's value;
/// compressed with deflate, without time or text, so that a map always has the same bytes.
///
/// As of nnU-Net's `Tiff3DIO`, samples have 8 bits if no label is above 254.
public enum TIFFLabelWriter {
    /// Above this size before compression, offsets have eight bytes.
    private static let largestClassic = 3 << 30

    /// Writes the file, replacing an existing one. It is not flushed to the disk.
    /// - Parameter isBig: whether offsets have eight bytes; nil for what the size needs.
    /// - Throws: ``TIFFStackError``; `CancelledError`. The part of the file already written stays.
    /// - Complexity: three times the bytes of a slice.
    public static func write(
        _ labels: LabelVolume,
        to path: String,
        isBig: Bool? = nil,
        scope: ComputeScope
    ) throws {
        let shape = labels.geometry.shape
        let bits = labels.voxels.withUnsafeBufferPointer { $0.max() ?? 0 } < 255 ? 8 : 16
        var pages = Pages(
            width: shape.x,
            height: shape.y,
            bits: bits,
            isBig: isBig ?? (shape.count * bits / 8 > largestClassic)
        )
        do {
            var output = try FileDescriptor(creating: path)
            try output.write(pages.head)
            for k in 0..<shape.z {
                try scope.check()
                let slice = labels.voxels.withUnsafeBufferPointer { all in
                    samples(all[k * shape.sliceCount..<(k + 1) * shape.sliceCount], bits: bits)
                }
                guard let pixels = ZlibStream.deflated(slice) else {
                    throw TIFFStackError(.outOfMemory, path: path, "no memory to compress a page")
                }
                try output.write(pages.page(pixels, isLast: k == shape.z - 1))
            }
            try output.close()
        } catch let error as FileSystemError {
            throw TIFFStackError(.cannotWrite, writing: error)
        }
    }

    /// The values with the low byte first.
    private static func samples(_ labels: Slice<UnsafeBufferPointer<UInt16>>, bits: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: labels.count * bits / 8) { bytes, count in
            for label in labels {
                bytes.initializeElement(at: count, to: UInt8(truncatingIfNeeded: label))
                count += 1
                guard bits == 16 else { continue }
                bytes.initializeElement(at: count, to: UInt8(label >> 8))
                count += 1
            }
        }
    }

    /// The structure of a TIFF of grey pages, low bytes first: each page's directory is followed by its pixels.
    struct Pages {
        let width: Int
        let height: Int
        let bits: Int
        /// Whether offsets have eight bytes.
        let isBig: Bool
        /// Where the next directory is.
        private var place: Int

        private static let entryCount = 10

        init(width: Int, height: Int, bits: Int, isBig: Bool) {
            (self.width, self.height, self.bits, self.isBig) = (width, height, bits, isBig)
            place = isBig ? 16 : 8
        }

        /// The beginning of the file, up to the first directory.
        var head: [UInt8] {
            isBig
                ? [0x49, 0x49] + Self.bytes(43, 2) + Self.bytes(8, 2) + Self.bytes(0, 2) + Self.bytes(16, 8)
                : [0x49, 0x49] + Self.bytes(42, 2) + Self.bytes(8, 4)
        }

        /// The next page.
        /// - Parameter pixels: compressed with deflate.
        mutating func page(_ pixels: [UInt8], isLast: Bool) -> [UInt8] {
            let offsetBytes = isBig ? 8 : 4
            let directoryBytes = isBig ? 8 + Self.entryCount * 20 + 8 : 2 + Self.entryCount * 12 + 4
            let start = place + directoryBytes
            // Directories begin at even places.
            place = start + pixels.count + pixels.count % 2
            var page = Self.bytes(Self.entryCount, isBig ? 8 : 2)
            let (short, long, offset) = (3, 4, isBig ? 16 : 4)
            // In ascending order, as TIFF 6.0 requires: width, length, bits, compression (8: deflate), photometric (1: 0 is
            // black), offset of the only strip, samples, rows in the strip, bytes of the strip, sample format (1: unsigned).
            for (tag, type, value) in [
                (256, long, width), (257, long, height), (258, short, bits), (259, short, 8), (262, short, 1),
                (273, offset, start), (277, short, 1), (278, long, height), (279, offset, pixels.count),
                (339, short, 1),
            ] {
                page +=
                    Self.bytes(tag, 2) + Self.bytes(type, 2) + Self.bytes(1, offsetBytes)
                    + Self.bytes(value, offsetBytes)
            }
            page += Self.bytes(isLast ? 0 : place, offsetBytes)
            return page + pixels + (pixels.count % 2 == 1 ? [0] : [])
        }

        private static func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
    }
}
