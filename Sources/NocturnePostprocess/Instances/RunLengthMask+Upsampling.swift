public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Upsamples masks from a small grid to the picture's own grid, with smooth edges between the small grid's pixels.
extension RunLengthMask {
    /// The masks of all instances at `width` by `height` pixels, in the order of their labels.
    ///
    /// Every pixel gets the label with the largest bilinear weight among the four small pixels around it, so masks do
    /// not overlap and edges shared by two instances stay shared. Where the four agree, whole runs are written at once:
    /// the time is proportional to the edges. An instance that loses all its pixels (when it becomes smaller) has an
    /// empty mask.
    /// - Throws: `CancelledError`.
    public static func masks(
        of labels: InstanceSplitter.Labels,
        width: Int,
        height: Int,
        scope: ComputeScope
    ) throws(CancelledError) -> [RunLengthMask] {
        guard labels.count > 0 else { return [] }
        let across = AxisSamples(from: labels.width, to: width)
        let down = AxisSamples(from: labels.height, to: height)
        let parts = try scope.mapRanges(of: width, by: 64) { strip in
            var runs = [[Range<Int>]](repeating: [], count: labels.count + 1)
            for x in strip { column(x, across, down, labels, height: height, into: &runs) }
            return runs
        }
        return (1...labels.count).map { label in
            RunLengthMask(width: width, height: height, runs: parts.flatMap { $0[label] })
        }
    }

    private static func column(
        _ x: Int,
        _ across: AxisSamples,
        _ down: AxisSamples,
        _ labels: InstanceSplitter.Labels,
        height: Int,
        into runs: inout [[Range<Int>]]
    ) {
        let (left, right, weight) = (across.first[x], across.second[x], across.weight[x])
        var start = 0
        var current: UInt16 = 0
        func change(to label: UInt16, at y: Int) {
            guard label != current else { return }
            if current > 0 { runs[Int(current)].append(x * height + start..<x * height + y) }
            (current, start) = (label, y)
        }
        for band in down.bands {
            let above = down.first[band.lowerBound] * labels.width
            let below = down.second[band.lowerBound] * labels.width
            let corners = (
                labels.labels[above + left], labels.labels[above + right],
                labels.labels[below + left], labels.labels[below + right]
            )
            if corners.0 == corners.1, corners.0 == corners.2, corners.0 == corners.3 {
                change(to: corners.0, at: band.lowerBound)
                continue
            }
            for y in band { change(to: largest(corners, weight, down.weight[y]), at: y) }
        }
        change(to: 0, at: height)
    }

    /// The label with the largest weight; on a tie, the one that comes first in reading order.
    private static func largest(_ labels: (UInt16, UInt16, UInt16, UInt16), _ x: Float, _ y: Float) -> UInt16 {
        let shares = ((1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y)
        func share(of label: UInt16) -> Float {
            (labels.0 == label ? shares.0 : 0) + (labels.1 == label ? shares.1 : 0)
                + (labels.2 == label ? shares.2 : 0) + (labels.3 == label ? shares.3 : 0)
        }
        var best = labels.0
        var most = share(of: labels.0)
        for label in [labels.1, labels.2, labels.3] {
            let own = share(of: label)
            if own > most { (best, most) = (label, own) }
        }
        return best
    }

    /// The mask of a plane of probabilities that covers a rectangle of the picture, in the picture's pixels: the pixels
    /// where the bilinearly interpolated probability is at least `threshold`, inside `clip`.
    /// - Parameters:
    ///   - plane: a single one, rows from the top.
    ///   - area: the rectangle that the plane covers, in pixels of the picture; it may extend beyond it.
    ///   - clip: in pixels of the picture.
    ///   - picture: its width and height.
    public static func mask(
        of plane: DetectionDecoder.Planes,
        over area: (left: Double, top: Double, right: Double, bottom: Double),
        threshold: Float,
        clip: PixelBox,
        picture: (width: Int, height: Int)
    ) -> RunLengthMask {
        let (width, height) = picture
        let (planeWidth, planeHeight, left, top) = (plane.width, plane.height, area.left, area.top)
        guard planeWidth > 0, planeHeight > 0, area.right > left, area.bottom > top, plane.count == 1,
            plane.isWhole
        else {
            return RunLengthMask(width: width, height: height, runs: [])
        }
        let stepX = Double(planeWidth) / (area.right - left)
        let stepY = Double(planeHeight) / (area.bottom - top)
        let values = plane.values
        let rows = max(clip.y, 0)..<max(max(clip.y, 0), min(clip.y + clip.height, height))
        let columns = max(clip.x, 0)..<max(max(clip.x, 0), min(clip.x + clip.width, width))
        let places = rows.map { AxisSamples.sample(at: (Double($0) + 0.5 - top) * stepY - 0.5, below: planeHeight) }
        var runs: [Range<Int>] = []
        for x in columns {
            let column = AxisSamples.sample(at: (Double(x) + 0.5 - left) * stepX - 0.5, below: planeWidth)
            var start: Int?
            for (y, row) in zip(rows, places) {
                let above =
                    values[row.first * planeWidth + column.first] * (1 - column.weight)
                    + values[row.first * planeWidth + column.second] * column.weight
                let below =
                    values[row.second * planeWidth + column.first] * (1 - column.weight)
                    + values[row.second * planeWidth + column.second] * column.weight
                let inside = above * (1 - row.weight) + below * row.weight >= threshold
                if inside, start == nil { start = y }
                if !inside, let begun = start {
                    runs.append(x * height + begun..<x * height + y)
                    start = nil
                }
            }
            if let begun = start { runs.append(x * height + begun..<x * height + rows.upperBound) }
        }
        return RunLengthMask(width: width, height: height, runs: runs)
    }

    /// The positions of the pixels of one line between those of another: pixel centres are aligned, the ends are repeated.
    fileprivate struct AxisSamples {
        private(set) var first: [Int] = []
        private(set) var second: [Int] = []
        private(set) var weight: [Float] = []
        /// Consecutive pixels that lie between the same two source pixels.
        private(set) var bands: [Range<Int>] = []

        init(from source: Int, to target: Int) {
            var start = 0
            for place in 0..<target {
                let sample = Self.sample(
                    at: (Double(place) + 0.5) * Double(source) / Double(target) - 0.5,
                    below: source
                )
                if place > 0, sample.first != first[place - 1] || sample.second != second[place - 1] {
                    bands.append(start..<place)
                    start = place
                }
                first.append(sample.first)
                second.append(sample.second)
                weight.append(sample.weight)
            }
            if target > start { bands.append(start..<target) }
        }

        static func sample(at place: Double, below count: Int) -> (first: Int, second: Int, weight: Float) {
            let held = min(max(place, 0), Double(count - 1))
            let first = Int(held)
            return (first, min(first + 1, count - 1), Float(held - Double(first)))
        }
    }
}
