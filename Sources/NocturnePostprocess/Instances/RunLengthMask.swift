public import NocturneCore
public import NocturneSystem

/// A mask over a picture in COCO's form: lengths of runs down the columns, left to right, alternately outside and
/// inside, starting outside (the first is 0 where the first pixel is inside).
///
/// 4 bytes per run, so a mask of a large picture takes kilobytes.
public struct RunLengthMask: Hashable, Sendable {
    /// Of the picture, in pixels.
    public let width: Int
    /// Of the picture, in pixels.
    public let height: Int
    /// They add up to `width * height`. Only the first may be 0.
    public let counts: [UInt32]

    /// A mask from the runs of its inside.
    /// - Parameter runs: ranges of `x * height + y`, ascending, separate or touching; none empty.
    package init(width: Int, height: Int, runs: [Range<Int>]) {
        var counts: [UInt32] = []
        var end = 0
        for run in runs {
            if run.lowerBound == end, !counts.isEmpty {
                counts[counts.count - 1] += UInt32(run.count)
            } else {
                counts.append(UInt32(run.lowerBound - end))
                counts.append(UInt32(run.count))
            }
            end = run.upperBound
        }
        if end < width * height || counts.isEmpty { counts.append(UInt32(width * height - end)) }
        self.width = width
        self.height = height
        self.counts = counts
    }

    /// The mask of a rectangle, limited to the part inside the picture.
    public init(width: Int, height: Int, box: PixelBox) {
        let columns = max(box.x, 0)..<max(max(box.x, 0), min(box.x + box.width, width))
        let rows = max(box.y, 0)..<max(max(box.y, 0), min(box.y + box.height, height))
        self.init(
            width: width,
            height: height,
            runs: rows.isEmpty ? [] : columns.map { $0 * height + rows.lowerBound..<$0 * height + rows.upperBound }
        )
    }

    /// The number of pixels inside.
    public var area: Int { stride(from: 1, to: counts.count, by: 2).reduce(0) { $0 + Int(counts[$1]) } }

    /// Calls `body` for every run inside a column, left to right and top to bottom.
    public func forEachRun(_ body: (_ x: Int, _ rows: Range<Int>) -> Void) {
        var place = 0
        for (index, count) in counts.enumerated() {
            let end = place + Int(count)
            if index % 2 == 1 {
                while place < end {
                    let x = place / height
                    let stop = min(end, (x + 1) * height)
                    body(x, place - x * height..<stop - x * height)
                    place = stop
                }
            }
            place = end
        }
    }

    /// The smallest box around the inside; nil when there is none.
    public var box: PixelBox? {
        var low = (x: Int.max, y: Int.max)
        var high = (x: -1, y: -1)
        forEachRun { x, rows in
            low = (min(low.x, x), min(low.y, rows.lowerBound))
            high = (max(high.x, x), max(high.y, rows.upperBound - 1))
        }
        guard high.x >= 0 else { return nil }
        return PixelBox(x: low.x, y: low.y, width: high.x - low.x + 1, height: high.y - low.y + 1)
    }

    /// The number of pixels inside both masks, which must belong to pictures of the same size.
    public func overlap(with other: RunLengthMask) -> Int {
        precondition(width == other.width && height == other.height, "masks of one picture have one size")
        var sum = 0
        var (first, second) = (0, 0)
        var (firstEnd, secondEnd) = (Int(counts[0]), Int(other.counts[0]))
        var place = 0
        while first < counts.count, second < other.counts.count {
            let end = min(firstEnd, secondEnd)
            if first % 2 == 1, second % 2 == 1 { sum += end - place }
            place = end
            if firstEnd == end {
                first += 1
                if first < counts.count { firstEnd += Int(counts[first]) }
            }
            if secondEnd == end {
                second += 1
                if second < other.counts.count { secondEnd += Int(other.counts[second]) }
            }
        }
        return sum
    }
}

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
