public import NocturneSystem

extension RunLengthMask {
    /// The masks of all labels of a picture but 0, in one pass down the columns.
    /// - Parameters:
    ///   - labels: `[y][x]`, width × height values.
    ///   - flag: checked after every column.
    /// - Throws: ``CancelledError``.
    /// - Complexity: linear in the pixels; 16 bytes for every run of equal labels down a column.
    public static func masks(
        of labels: UnsafeBufferPointer<UInt16>,
        width: Int,
        height: Int,
        flag: CancellationFlag
    ) throws(CancelledError) -> [UInt16: RunLengthMask] {
        precondition(labels.count == width * height, "pixels do not fill the picture")
        var runs: [UInt16: [Range<Int>]] = [:]
        for x in 0..<width {
            try flag.check()
            var (value, begin) = (UInt16(0), 0)
            for y in 0...height {
                let next = y < height ? labels[y * width + x] : 0
                guard next != value || y == height else { continue }
                if value != 0 { runs[value, default: []].append(x * height + begin..<x * height + y) }
                (value, begin) = (next, y)
            }
        }
        return runs.mapValues { RunLengthMask(width: width, height: height, runs: $0) }
    }
}
