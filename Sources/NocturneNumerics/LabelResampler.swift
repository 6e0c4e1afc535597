public import NocturneConcurrency
public import NocturneCore

/// Brings the labels of one stage of a cascade to the grid of the next, as channels of its input.
///
/// nnU-Net's order 1 of labels: every label has a score, the interpolated indicator of it, and the largest wins. Of
/// equal ones that of the nearest voxel is taken if it is among them, else the smallest label. Voxels without a label
/// outside the body are a label of their own, −1. Nothing is held but a row at a time.
///
/// Orders 0 and 1 only; nnU-Net's planners ask for nothing else.
public struct LabelResampler: Sendable {
    public let view: VoxelView
    public let target: VolumeShape
    public let rule: ResamplingRule
    public let separateAxis: Int?
    private let x: AxisTaps
    private let y: AxisTaps
    private let z: AxisTaps
    /// The nearest voxel, which decides between equal scores.
    private let nearest: [[Int]]

    /// - Parameters:
    ///   - view: the labels in the order of the target, cropped like the image.
    ///   - separateAxis: what ``ResamplingRule/separateAxis(current:new:)`` says.
    /// - Throws: ``NumericsError``, also for rules of order 3.
    public init(
        view: VoxelView,
        target: VolumeShape,
        rule: ResamplingRule = .logits,
        separateAxis: Int? = nil
    ) throws(NumericsError) {
        try rule.check(from: view.shape, to: target, separateAxis: separateAxis)
        let isCubic = rule.order == .cubic || separateAxis != nil && rule.orderZ == .cubic
        guard rule.method != .spline || !isCubic || target == view.shape else {
            throw .value("labels cannot be resampled with order 3, only with 0 or 1")
        }
        self.view = view
        self.target = target
        let isSame = target == view.shape
        let rule = isSame ? ResamplingRule(order: .nearest) : rule
        self.rule = rule
        self.separateAxis = isSame ? nil : separateAxis
        func taps(_ axis: Int) -> AxisTaps {
            AxisTaps(inputs: view.shape[axis], outputs: target[axis], rule: rule, isSeparate: axis == separateAxis)
        }
        (x, y, z) = (taps(0), taps(1), taps(2))
        nearest = (0..<3).map { AxisTaps(inputs: view.shape[$0], outputs: target[$0], order: .nearest).indices }
    }

    /// Writes one channel for each of `values`: 1 where the label is that value, else 0.
    ///
    /// - Parameters:
    ///   - labels: stored labels.
    ///   - mask: the body, of the same view; where a voxel is 0 and outside, it is −1. nil for everywhere inside.
    ///   - result: `[value][z][y][x]`, `values.count * target.count` floats.
    /// - Throws: ``NumericsError`` for sizes that do not fit, ``CancelledError``.
    /// - Complexity: 8 reads a target voxel, in parallel by rows; no memory.
    public func oneHot(
        _ labels: FrozenVoxels<UInt16>,
        mask: ForegroundMask? = nil,
        values: [UInt16],
        into result: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        guard labels.count == view.storedCount else {
            throw NumericsError.count("labels to resample", expected: view.storedCount, found: labels.count)
        }
        guard result.count == target.count * values.count else {
            throw NumericsError.count("channels of labels", expected: target.count * values.count, found: result.count)
        }
        guard mask?.view ?? view == view else {
            throw NumericsError.shape("the mask of the body is of another part of the labels")
        }
        guard !values.isEmpty else { return }
        let target = target
        try labels.withUnsafeBufferPointer { labels in
            try PointwiseMap(mask: mask).withMask { inside in
                // Every row is written by one body only.
                nonisolated(unsafe) let result = result
                nonisolated(unsafe) let labels = labels
                nonisolated(unsafe) let inside = inside
                try scope.forEachRange(of: target.z * target.y, by: 8) { rows in
                    for row in rows {
                        let (j, k) = (row % target.y, row / target.y)
                        for i in 0..<target.x {
                            let label = winner(i, j, k) { a, b, c in
                                let label = Int32(labels[view.offset(a, b, c)])
                                if label == 0, let inside, inside[view.shape.offset(a, b, c)] == 0 { return -1 }
                                return label
                            }
                            let to = row * target.x + i
                            for (channel, value) in values.enumerated() {
                                result[channel * target.count + to] = label == Int32(value) ? 1 : 0
                            }
                        }
                    }
                }
            }
        }
    }

    @inline(__always)
    private func winner(_ i: Int, _ j: Int, _ k: Int, _ read: (Int, Int, Int) -> Int32) -> Int32 {
        if rule.method == .spline, let axis = separateAxis, rule.orderZ == .linear {
            return winnerAcross(axis, i, j, k, read)
        }
        return winner(i, j, k, slice: nil, read)
    }

    /// The label with the largest score, of all taps or of one slice of the separate axis.
    @inline(__always)
    private func winner(
        _ i: Int,
        _ j: Int,
        _ k: Int,
        slice: (axis: Int, tap: Int)?,
        _ read: (Int, Int, Int) -> Int32
    ) -> Int32 {
        func taps(_ axis: Int, _ count: Int) -> Range<Int> {
            if let slice, slice.axis == axis { return slice.tap..<slice.tap + 1 }
            return 0..<count
        }
        let (alongX, alongY, alongZ) = (taps(0, x.count), taps(1, y.count), taps(2, z.count))
        var found = InlineArray<8, Int32>(repeating: 0)
        var weights = InlineArray<8, SIMD3<Double>>(repeating: .zero)
        var count = 0
        var isOne = true
        for c in alongZ {
            let atZ = c * target.z + k
            for b in alongY {
                let atY = b * target.y + j
                for a in alongX {
                    let atX = a * target.x + i
                    found[count] = read(x.indices[atX], y.indices[atY], z.indices[atZ])
                    weights[count] = SIMD3(x.weights[atX], y.weights[atY], z.weights[atZ])
                    if let slice { weights[count][slice.axis] = 1 }
                    isOne = isOne && found[count] == found[0]
                    count += 1
                }
            }
        }
        if isOne { return found[0] }
        if rule.method == .torch { return torchWinner(found, weights, count) }
        var (best, bestScore, isTied) = (Int32.max, -1.0, false)
        for candidate in 0..<count {
            let label = found[candidate]
            if label == best { continue }
            var score = 0.0
            for tap in 0..<count where found[tap] == label {
                score += weights[tap].z * weights[tap].y * weights[tap].x
            }
            // The indicator is clamped to its range, 0 to 1.
            score = min(score, 1)
            if score > bestScore {
                (best, bestScore, isTied) = (label, score, false)
            } else if score == bestScore {
                best = min(best, label)
                isTied = true
            }
        }
        guard isTied else { return best }
        // The nearest voxel's label, if its score is the best one too.
        let near = read(
            alongX.count == 1 ? x.indices[alongX.lowerBound * target.x + i] : nearest[0][i],
            alongY.count == 1 ? y.indices[alongY.lowerBound * target.y + j] : nearest[1][j],
            alongZ.count == 1 ? z.indices[alongZ.lowerBound * target.z + k] : nearest[2][k]
        )
        var score = 0.0
        for tap in 0..<count where found[tap] == near {
            score += weights[tap].z * weights[tap].y * weights[tap].x
        }
        return min(score, 1) == bestScore ? near : best
    }

    /// Slices first, then a label that has more than half of the way between two slices; 0 exactly at half.
    @inline(__always)
    private func winnerAcross(_ axis: Int, _ i: Int, _ j: Int, _ k: Int, _ read: (Int, Int, Int) -> Int32) -> Int32 {
        let (taps, at) = axis == 0 ? (x, i) : axis == 1 ? (y, j) : (z, k)
        let first = winner(i, j, k, slice: (axis, 0), read)
        let second = winner(i, j, k, slice: (axis, 1), read)
        if first == second { return first }
        let outputs = target[axis]
        if taps.weights[at] > 0.5 { return first }
        return taps.weights[outputs + at] > 0.5 ? second : 0
    }

    /// Scores of 1000 in float32, rounded to float16; the smallest label on a tie.
    private func torchWinner(
        _ found: InlineArray<8, Int32>,
        _ weights: InlineArray<8, SIMD3<Double>>,
        _ count: Int
    ) -> Int32 {
        var (best, bestScore) = (Int32.max, Float(-1))
        for candidate in 0..<count {
            let label = found[candidate]
            var score: Float = 0
            for tap in 0..<count where found[tap] == label {
                let weight = SIMD3<Float>(weights[tap])
                score += 1000 * weight.x * weight.y * weight.z
            }
            score = Float(Float16(score))
            if score > bestScore || score == bestScore && label < best { (best, bestScore) = (label, score) }
        }
        return best
    }
}
