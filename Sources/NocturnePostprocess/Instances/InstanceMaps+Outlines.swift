package import NocturneSystem

/// How clearly the instances of a picture are bounded: a network that knows only objects of one kind finds pieces in pictures of other
/// things, too, but their outlines are not marked in its boundary map, or irregular.
extension InstanceMaps {
    /// An instance with such a score has a clear outline.
    package static let clearScore = 0.7

    /// The share of the area of all instances that is in those with clear outlines, 0...1; 0 without instances.
    /// - Parameters:
    ///   - labels: rows of the maps' width; 0 is background, instances count from 1.
    ///   - count: of the instances.
    /// - Throws: `CancelledError`.
    package func clearShare(
        of labels: [UInt16],
        count: Int,
        flag: CancellationFlag
    ) throws(CancelledError) -> Float {
        let scores = try outlineScores(of: labels, count: count, flag: flag)
        let whole = scores.reduce(0) { $0 + $1.area }
        let clear = scores.reduce(0) { $0 + ($1.score >= Self.clearScore ? $1.area : 0) }
        return whole > 0 ? Float(clear) / Float(whole) : 0
    }

    /// Of every instance, its area, and the share of the smallest rectangle around it that it fills times the mean of the boundary map
    /// along its outline, 0...1: of every pair of horizontal or vertical neighbours of which only one is in the instance, the higher
    /// value. What lies at the picture's edge has no boundary there: it counts as 0.
    /// - Throws: `CancelledError`.
    /// - Complexity: one pass over the picture, and one over the convex hull of every instance for each of its sides.
    package func outlineScores(
        of labels: [UInt16],
        count: Int,
        flag: CancellationFlag
    ) throws(CancelledError) -> [(area: Int, score: Double)] {
        let outlines = try outlines(of: labels, count: count, flag)
        let masks = try labels.withUnsafeBufferPointer { (labels) throws(CancelledError) in
            try RunLengthMask.masks(of: labels, width: width, height: height, flag: flag)
        }
        var scores: [(area: Int, score: Double)] = []
        for label in 1..<max(count + 1, 1) {
            try flag.check()
            guard let mask = masks[UInt16(label)], let box = RotatedBox(around: mask) else { continue }
            scores.append((mask.area, Double(mask.area) / (box.width * box.height) * outlines[label]))
        }
        return scores
    }

    /// Of every label, the mean of the boundary map along its outline.
    private func outlines(
        of labels: [UInt16],
        count: Int,
        _ flag: CancellationFlag
    ) throws(CancelledError) -> [Double] {
        var sums = [Double](repeating: 0, count: count + 1)
        var pairs = [Int](repeating: 0, count: count + 1)
        func compare(_ place: Int, _ other: Int) {
            let (a, b) = (Int(labels[place]), Int(labels[other]))
            guard a != b else { return }
            let value = Double(min(max(boundary[place], boundary[other], 0), 1))
            sums[a] += value
            sums[b] += value
            pairs[a] += 1
            pairs[b] += 1
        }
        for y in 0..<height {
            try flag.check()
            for x in 0..<width {
                let place = y * width + x
                if x + 1 < width { compare(place, place + 1) }
                if y + 1 < height { compare(place, place + width) }
                let label = Int(labels[place])
                if x == 0 || x == width - 1 { pairs[label] += 1 }
                if y == 0 || y == height - 1 { pairs[label] += 1 }
            }
        }
        return zip(sums, pairs).map { $1 > 0 ? $0 / Double($1) : 0 }
    }
}
