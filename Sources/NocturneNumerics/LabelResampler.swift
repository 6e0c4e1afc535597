internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// Resamples the labels of one stage of a cascade to the grid of the next stage, as channels of its input.
///
/// This is nnU-Net's order 1 for labels: the score of a label is its interpolated indicator, and the label with the
/// largest score is chosen. On a tie, the label of the nearest voxel is chosen if it is among the tied ones, otherwise
/// the smallest label. Voxels outside the body without a label have a separate label, −1. Only a few rows are held in
/// memory at a time.
///
/// Orders 0 and 1 only; nnU-Net's planners request no others.
public struct LabelResampler: Sendable {
    /// How the stored labels are read.
    public let view: VoxelView
    /// The shape of the result, in the axis order of ``view``.
    public let target: VolumeShape
    /// Of order 0 or 1.
    public let rule: ResamplingRule
    /// The axis of the view along which slices are kept apart, or nil.
    public let separateAxis: Int?
    private let x: AxisTaps
    private let y: AxisTaps
    private let z: AxisTaps
    /// The tap that is the nearest voxel; it decides ties between scores.
    private let nearX: [UInt8]
    private let nearY: [UInt8]
    private let nearZ: [UInt8]

    /// - Parameters:
    ///   - view: the labels in the order of the target, cropped like the image.
    ///   - separateAxis: the result of ``ResamplingRule/separateAxis(current:new:)``.
    /// - Throws: ``NumericsError``, also for rules of order 3.
    public init(
        view: VoxelView,
        target: VolumeShape,
        rule: ResamplingRule = .logits,
        separateAxis: Int? = nil
    ) throws(NumericsError) {
        try rule.checkIsNotCubic("labels", from: view.shape, to: target, separateAxis: separateAxis)
        self.view = view
        self.target = target
        let isSame = rule.changesNothing(from: view.shape, to: target)
        let rule = isSame ? ResamplingRule(order: .nearest) : rule
        self.rule = rule
        self.separateAxis = isSame ? nil : separateAxis
        (x, y, z) = AxisTaps.along(view.shape, to: target, rule: rule, separateAxis: separateAxis)
        func near(_ axis: Int, _ taps: AxisTaps) -> [UInt8] {
            let nearest = AxisTaps(inputs: view.shape[axis], outputs: target[axis], order: .nearest).indices
            return nearest.indices.map { nearest[$0] == taps.indices[$0] ? 0 : UInt8(taps.count - 1) }
        }
        (nearX, nearY, nearZ) = (near(0, x), near(1, y), near(2, z))
    }

    /// Writes one channel for each of `values`: 1 where the label is that value, else 0.
    ///
    /// - Parameters:
    ///   - labels: stored labels.
    ///   - mask: the body, of the same view; voxels that are 0 and outside the body are written as −1. nil for no
    ///     outside.
    ///   - result: `[value][z][y][x]`, `values.count * target.count` floats.
    /// - Throws: ``NumericsError`` for inconsistent sizes, ``CancelledError``.
    /// - Complexity: 8 reads per target voxel, in parallel by rows; a few rows of memory per thread.
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
            throw NumericsError.shape("the body mask covers another part of the labels")
        }
        guard !values.isEmpty else { return }
        try labels.withUnsafeBufferPointer { labels in
            try PointwiseMap(mask: mask).withMask { inside in
                guard let labelsBase = labels.baseAddress, let resultBase = result.baseAddress else { return }
                // Every range of rows is written by only one body.
                let (labels, inside) = (ParallelReader(labelsBase), inside.map(ParallelReader.init))
                let result = ParallelBuffer(resultBase)
                try scope.forEachRange(of: target.z * target.y, by: 16) { rows in
                    withUnsafeTemporaryAllocation(of: Int32.self, capacity: 4 * view.shape.x + target.x) { scratch in
                        guard let scratch = scratch.baseAddress else { return }
                        for row in rows {
                            let winners = scratch + 4 * view.shape.x
                            label(winners, row % target.y, row / target.y, labels.base, inside?.base, scratch: scratch)
                            for (channel, value) in values.enumerated() {
                                let to = result + channel * target.count + row * target.x
                                nk_indicate(to, winners, target.x, Int32(value))
                            }
                        }
                    }
                }
            }
        }
    }

    /// The labels of target row (j, k). `scratch` holds four rows of the view.
    private func label(
        _ winners: UnsafeMutablePointer<Int32>,
        _ j: Int,
        _ k: Int,
        _ labels: UnsafePointer<UInt16>,
        _ inside: UnsafePointer<UInt8>?,
        scratch: UnsafeMutablePointer<Int32>
    ) {
        func place(_ row: Int) -> UnsafeMutablePointer<Int32> { scratch + row * view.shape.x }
        func row(_ row: Int) -> UnsafePointer<Int32> { UnsafePointer(place(row)) }
        // The rows around the target row: two along y times two along z, or fewer along an axis with the nearest sample.
        for c in 0..<z.count {
            for b in 0..<y.count {
                let (fromY, fromZ) = (y.indices[b * target.y + j], z.indices[c * target.z + k])
                nk_read_labels(
                    place(c * y.count + b),
                    labels + view.offset(0, fromY, fromZ),
                    view.step.x,
                    inside.map { $0 + view.shape.offset(0, fromY, fromZ) },
                    view.shape.x
                )
            }
        }
        x.indices.withUnsafeBufferPointer { indices in
            x.weights.withUnsafeBufferPointer { weights in
                nearX.withUnsafeBufferPointer { nearX in
                    guard let indices = indices.baseAddress, let weights = weights.baseAddress,
                        let nearX = nearX.baseAddress
                    else { return }
                    var taps = nk_label_rows(
                        rows: (row(0), row(1), row(2), row(3)),
                        z_taps: Int32(z.count),
                        y_taps: Int32(y.count),
                        x_taps: Int32(x.count),
                        wz: (z.weights[k], z.weights[(z.count - 1) * target.z + k]),
                        wy: (y.weights[j], y.weights[(y.count - 1) * target.y + j]),
                        x: indices,
                        wx: weights,
                        near_z: Int32(nearZ[k]),
                        near_y: Int32(nearY[j]),
                        near_x: nearX,
                        single: rule.method == .torch ? 1 : 0,
                        last_axis: rule.method == .spline && rule.orderZ == .linear ? Int32(separateAxis ?? -1) : -1
                    )
                    nk_label_by_score(winners, target.x, &taps)
                }
            }
        }
    }
}
