public import NocturneCore
public import NocturneSystem

/// Resizing as OpenCV's `resize` with `INTER_LINEAR` does it for 8-bit samples.
///
/// Method: each value is the mean of the four source pixels around its position, weighted by distance; where a picture shrinks,
/// pixels are skipped. Weights are integers in units of 2⁻¹¹, sums along rows lose 4 bits before those along columns, as in
/// OpenCV's resize.cpp.
public enum BilinearResize {
    /// Resizes the picture. Takes about 5 ns per pixel of the result.
    /// - Throws: ``NumericsError`` for a size without pixels; `CancelledError`.
    public static func resize(
        _ image: RGBImage,
        width: Int,
        height: Int,
        flag: CancellationFlag = CancellationFlag()
    ) throws -> RGBImage {
        guard width > 0, height > 0, image.width > 0, image.height > 0, max(width, height) < 1 << 20 else {
            throw NumericsError.shape(
                "\(image.width)×\(image.height) pixels cannot be resized to \(width)×\(height) pixels"
            )
        }
        var result = RGBImage(width: width, height: height)
        // Weights of columns and rows are computed once; positions depend on one axis only.
        let across = (0..<width).map { Taps($0, from: image.width, to: width) }
        let down = (0..<height).map { Taps($0, from: image.height, to: height) }
        let rowBytes = 3 * image.width
        try image.samples.withUnsafeBufferPointer { source in
            try result.samples.withUnsafeMutableBufferPointer { target in
                for (y, row) in down.enumerated() {
                    if y % 64 == 0 { try flag.check() }
                    let (above, below) = (row.first * rowBytes, row.second * rowBytes)
                    for (x, column) in across.enumerated() {
                        for channel in 0..<3 {
                            let (left, right) = (3 * column.first + channel, 3 * column.second + channel)
                            let upper = column.sum(source[above + left], source[above + right])
                            let lower = column.sum(source[below + left], source[below + right])
                            target[3 * (y * width + x) + channel] = row.value(upper, lower)
                        }
                    }
                }
            }
        }
        return result
    }

    /// The two pixels next to a position on one axis, and their weights in units of 2⁻¹¹.
    private struct Taps {
        let first: Int
        let second: Int
        let weight: (first: Int32, second: Int32)

        init(_ place: Int, from source: Int, to target: Int) {
            let scale = Double(source) / Double(target)
            // In float32, as OpenCV stores it.
            let position = Float((Double(place) + 0.5) * scale - 0.5)
            let start = Int(position.rounded(.down))
            let share = position - Float(start)
            first = min(max(start, 0), source - 1)
            second = min(max(start + 1, 0), source - 1)
            weight = (
                Int32(((1 - share) * 2048).rounded(.toNearestOrEven)), Int32((share * 2048).rounded(.toNearestOrEven))
            )
        }

        /// Along a row, in units of 2⁻¹¹.
        func sum(_ a: UInt8, _ b: UInt8) -> Int32 { Int32(a) * weight.first + Int32(b) * weight.second }

        /// Along a column, of the sums of two rows.
        func value(_ above: Int32, _ below: Int32) -> UInt8 {
            // 11 + 11 bits of weights, of which 4 and 16 are cut off: 2 bits are left, which the last line rounds away.
            let sum = (weight.first * (above >> 4)) >> 16 + (weight.second * (below >> 4)) >> 16
            return UInt8(clamping: (sum + 2) >> 2)
        }
    }
}
