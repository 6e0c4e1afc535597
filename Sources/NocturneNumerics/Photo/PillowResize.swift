internal import CPhotoKernels
import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Resizing identical to Pillow's `Image.resize`, bit for bit.
///
/// Method: Pillow's Resample.c. A triangle filter two source pixels wide, wider where the picture shrinks, so that no
/// pixel is skipped. It is applied first along rows, then along columns, with rounding to bytes in between; weights are
/// integers in units of 2⁻²².
public enum PillowResize {
    /// Resizes the picture, or a part of it as if it had been cropped first.
    ///
    /// Takes about a nanosecond per source pixel, and needs 3 bytes × `width` × source rows in addition to the result.
    /// - Throws: ``NumericsError`` for a size without pixels or a part outside; `CancelledError`.
    public static func bilinear(
        _ image: RGBImage,
        part: PixelBox? = nil,
        width: Int,
        height: Int,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> RGBImage {
        let part = part ?? PixelBox(x: 0, y: 0, width: image.width, height: image.height)
        guard part.fits(width: image.width, height: image.height), width > 0, height > 0,
            max(width, height, image.width, image.height) < 1 << 20
        else {
            throw NumericsError.shape(
                "\(part) of \(image.width)×\(image.height) pixels cannot be resized to \(width)×\(height) pixels"
            )
        }
        var middle = RGBImage(width: width, height: part.height)
        try resizeRows(of: image, part: part, into: &middle, flag: flag)
        // Pillow omits a pass that changes nothing; so does this code.
        if height == part.height { return middle }
        var result = RGBImage(width: width, height: height)
        try mixRows(of: middle, into: &result, flag: flag)
        return result
    }

    private static func resizeRows(
        of image: RGBImage,
        part: PixelBox,
        into middle: inout RGBImage,
        flag: CancellationFlag
    ) throws {
        let width = middle.width
        let rowBytes = part.width * 3
        let taps = PillowTaps(from: part.width, to: width)
        let grouped = GroupedTaps(taps)
        // The kernel reads whole groups of weights, including zero weights beyond the last column.
        var padded = [UInt8](repeating: 0, count: rowBytes + grouped.groups * 12 + 6)
        for row in 0..<part.height {
            if row % 64 == 0 { try flag.check() }
            let source = ((part.y + row) * image.width + part.x) * 3
            image.samples.withUnsafeBufferPointer { samples in
                middle.samples.withUnsafeMutableBufferPointer { target in
                    padded.withUnsafeMutableBufferPointer { line in
                        let out = target.baseAddress! + row * width * 3
                        if width == part.width {
                            out.update(from: samples.baseAddress! + source, count: rowBytes)
                        } else {
                            line.baseAddress!.update(from: samples.baseAddress! + source, count: rowBytes)
                            photo_resize_row(line.baseAddress, taps.starts, grouped.weights, grouped.groups, width, out)
                        }
                    }
                }
            }
        }
    }

    static func mixRows(of middle: RGBImage, into result: inout RGBImage, flag: CancellationFlag) throws {
        let rowBytes = result.width * 3
        let taps = PillowTaps(from: middle.height, to: result.height)
        for row in 0..<result.height {
            if row % 64 == 0 { try flag.check() }
            middle.samples.withUnsafeBufferPointer { samples in
                taps.weights.withUnsafeBufferPointer { weights in
                    result.samples.withUnsafeMutableBufferPointer { target in
                        photo_mix_rows(
                            samples.baseAddress! + Int(taps.starts[row]) * rowBytes,
                            rowBytes,
                            weights.baseAddress! + row * taps.stride,
                            Int(taps.counts[row]),
                            rowBytes,
                            target.baseAddress! + row * rowBytes
                        )
                    }
                }
            }
        }
    }
}

/// The source pixels that contribute to each pixel of a line, and their weights in units of 2⁻²².
struct PillowTaps {
    /// First source pixel, and number of source pixels, for each pixel.
    private(set) var starts: [Int32] = []
    private(set) var counts: [Int32] = []
    /// `stride` weights for each pixel, 0 after its own ones.
    private(set) var weights: [Int32]
    let stride: Int

    init(from source: Int, to target: Int) {
        let scale = Double(source) / Double(target)
        let support = max(scale, 1)
        stride = Int(support.rounded(.up)) * 2 + 1
        weights = [Int32](repeating: 0, count: target * stride)
        var line = [Double](repeating: 0, count: stride)
        for place in 0..<target {
            let centre = (Double(place) + 0.5) * scale
            // Conversions truncate towards zero, as in C.
            let first = max(Int(centre - support + 0.5), 0)
            let count = min(Int(centre + support + 0.5), source) - first
            var sum = 0.0
            for tap in 0..<count {
                let distance = abs((Double(tap + first) - centre + 0.5) * (1 / support))
                line[tap] = distance < 1 ? 1 - distance : 0
                sum += line[tap]
            }
            for tap in 0..<count {
                let share = sum == 0 ? line[tap] : line[tap] / sum
                weights[place * stride + tap] = Int32(0.5 + share * Double(1 << 22))
            }
            starts.append(Int32(first))
            counts.append(Int32(count))
        }
    }
}

/// The same weights in the layout of the row kernel: split in two, in groups of four pixels.
struct GroupedTaps {
    /// Number of groups per pixel.
    let groups: Int
    private(set) var weights: [Int16]

    init(_ taps: PillowTaps) {
        // The stride of the plain taps is larger than the tap count of any pixel.
        groups = (Int(taps.counts.max() ?? 1) + 3) / 4
        let group = Int(PHOTO_GROUP)
        weights = [Int16](repeating: 0, count: taps.starts.count * groups * group)
        for place in taps.starts.indices {
            for tap in 0..<Int(taps.counts[place]) {
                let weight = taps.weights[place * taps.stride + tap]
                let first = (place * groups + tap / 4) * group + tap % 4 / 2 * 8 + tap % 2
                for channel in 0..<3 {
                    weights[first + channel * 2] = Int16(weight & 0x7FF)
                    weights[first + channel * 2 + group / 2] = Int16(weight >> 11)
                }
            }
        }
    }
}
