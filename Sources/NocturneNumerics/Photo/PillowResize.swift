internal import CPhotoKernels
public import NocturneCore
public import NocturneSystem

/// Resizing identical to Pillow's `Image.resize`, bit for bit, also of a picture that is delivered some rows at a time and
/// never held completely.
///
/// Method: Pillow's Resample.c. A triangle filter two source pixels wide, wider where the picture shrinks, so that no
/// pixel is skipped. It is applied first along rows, then along columns, with rounding to bytes in between; weights are
/// integers in units of 2⁻²².
///
/// Needs 3 bytes × `width` × source rows, plus the result.
public struct PillowResize {
    private let sourceWidth: Int
    private let taps: Taps
    /// The weights of a row in the layout of the kernel, and the number of its groups per pixel.
    private let weights: [Int16]
    private let groups: Int
    private let height: Int
    private var middle: RGBImage
    private var filled = 0
    /// Space for one row: the kernel reads whole groups of weights, including zero weights beyond the last column.
    private var padded: [UInt8]

    /// - Throws: ``NumericsError`` for a size without pixels, or one that is too large.
    public init(sourceWidth: Int, sourceHeight: Int, width: Int, height: Int) throws {
        let sizes = [sourceWidth, sourceHeight, width, height]
        guard sizes.allSatisfy({ $0 > 0 && $0 < 1 << 20 }) else {
            throw NumericsError.shape(
                "\(sourceWidth)×\(sourceHeight) pixels cannot be resized to \(width)×\(height) pixels"
            )
        }
        self.sourceWidth = sourceWidth
        self.height = height
        taps = Taps(from: sourceWidth, to: width)
        (weights, groups) = taps.grouped()
        middle = RGBImage(width: width, height: sourceHeight)
        padded = [UInt8](repeating: 0, count: sourceWidth * 3 + groups * 12 + 6)
    }

    /// Resizes a picture, or a part of it as if it had been cropped first.
    ///
    /// Takes about a nanosecond per source pixel.
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
        var resize = try PillowResize(
            sourceWidth: part.width,
            sourceHeight: part.height,
            width: width,
            height: height
        )
        try image.samples.withUnsafeBufferPointer { samples in
            // Some rows at a time, so that a cancellation is noticed.
            for row in stride(from: 0, to: part.height, by: 64) {
                try flag.check()
                let start = ((part.y + row) * image.width + part.x) * 3
                resize.add(samples.baseAddress! + start, stride: image.width * 3, count: min(64, part.height - row))
            }
        }
        return try resize.finish(flag: flag)
    }

    /// Adds the next rows, `stride` bytes apart, 3 bytes per pixel. Rows beyond the picture are ignored.
    public mutating func add(_ rows: UnsafePointer<UInt8>, stride: Int, count: Int) {
        let width = middle.width
        let taken = min(count, middle.height - filled)
        middle.samples.withUnsafeMutableBufferPointer { target in
            for row in 0..<max(taken, 0) {
                var source = rows + row * stride
                let out = target.baseAddress! + (filled + row) * width * 3
                if width == sourceWidth {
                    out.update(from: source, count: width * 3)
                    continue
                }
                padded.withUnsafeMutableBufferPointer { line in
                    // The bytes after a row belong to the next row, except for the last rows.
                    if (count - 1 - row) * stride < line.count - sourceWidth * 3 {
                        line.baseAddress!.update(from: source, count: sourceWidth * 3)
                        source = UnsafePointer(line.baseAddress!)
                    }
                    photo_resize_row(source, taps.starts, weights, groups, width, out)
                }
            }
        }
        filled += max(taken, 0)
    }

    /// The resized picture, once all rows were added.
    /// - Throws: ``NumericsError`` when rows are missing; `CancelledError`.
    public consuming func finish(flag: CancellationFlag = CancellationFlag()) throws -> RGBImage {
        guard filled == middle.height else {
            throw NumericsError.shape("\(filled) of \(middle.height) rows received; the picture is incomplete")
        }
        // Pillow omits a pass that changes nothing; so does this code.
        if height == middle.height { return middle }
        var result = RGBImage(width: middle.width, height: height)
        try Self.mixRows(of: middle, into: &result, flag: flag)
        return result
    }

    private static func mixRows(of middle: RGBImage, into result: inout RGBImage, flag: CancellationFlag) throws {
        let rowBytes = result.width * 3
        let taps = Taps(from: middle.height, to: result.height)
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

    /// The source pixels that contribute to each pixel of a line, and their weights in units of 2⁻²².
    fileprivate struct Taps {
        /// First source pixel, and number of source pixels, for each pixel.
        private(set) var starts: [Int32] = []
        private(set) var counts: [Int32] = []
        /// `stride` weights for each pixel, 0 after its own ones.
        private(set) var weights: [Int32]
        let stride: Int

        init(from source: Int, to target: Int) {
            let scale = Double(source) / Double(target)
            // Half of the filter's width: one source pixel, or as many as become one pixel.
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
                    // The triangle: 1 at the centre, 0 from `support` on.
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

        /// The weights in the layout of the row kernel: split in two, in groups of four pixels; and the groups per pixel.
        func grouped() -> (weights: [Int16], groups: Int) {
            // The stride of the plain taps is larger than the tap count of any pixel.
            let groups = (Int(counts.max() ?? 1) + 3) / 4
            let group = Int(PHOTO_GROUP)
            var grouped = [Int16](repeating: 0, count: starts.count * groups * group)
            for place in starts.indices {
                for tap in 0..<Int(counts[place]) {
                    let weight = weights[place * stride + tap]
                    // Pairs of weights are next to each other, because the kernel multiplies and adds two at a time.
                    let first = (place * groups + tap / 4) * group + tap % 4 / 2 * 8 + tap % 2
                    for channel in 0..<3 {
                        // The kernel multiplies 16-bit numbers: 11 low bits, and the bits above them.
                        grouped[first + channel * 2] = Int16(weight & 0x7FF)
                        grouped[first + channel * 2 + group / 2] = Int16(weight >> 11)
                    }
                }
            }
            return (grouped, groups)
        }
    }
}
