internal import CNocturneKernels
internal import NocturneCore

extension LogitInterpolation {
    /// ``AxisTaps`` in the smaller types of the label kernels: always two taps, ascending.
    struct LabelTaps: Sendable {
        let first: [Int32]
        let second: [Int32]
        let firstWeight: [Double]
        let secondWeight: [Double]
        /// The same weights in float32; each pair sums to 1.
        let firstSingle: [Float]
        let secondSingle: [Float]

        init(_ taps: AxisTaps) {
            let outputs = taps.indices.count / taps.count
            let weights = Array(taps.weights[..<outputs])
            first = taps.indices[..<outputs].map { Int32($0) }
            // A tap of weight 0 must not be required: a slice that coincides with a plane needs only that plane.
            second = (0..<outputs).map { Int32(taps.indices[weights[$0] < 1 ? outputs + $0 : $0]) }
            firstWeight = weights
            secondWeight = weights.map { 1 - $0 }
            firstSingle = weights.map { Float($0) }
            secondSingle = weights.map { 1 - Float($0) }
        }

        func withIndices(_ body: (UnsafePointer<Int32>, UnsafePointer<Int32>) -> Void) {
            withPointers(first, second, body)
        }

        func withSingleWeights(_ body: (UnsafePointer<Float>, UnsafePointer<Float>) -> Void) {
            withPointers(firstSingle, secondSingle, body)
        }
    }
}

/// How the logits of a model grid are interpolated on native voxels, one row at a time.
struct LogitInterpolation: Sendable {
    /// The four rows of model voxels around a row of native voxels: in the planes below and above it, in front of and behind it.
    struct Rows {
        let belowFront: UnsafePointer<Float>
        let belowBack: UnsafePointer<Float>
        let aboveFront: UnsafePointer<Float>
        let aboveBack: UnsafePointer<Float>
    }

    /// The grid of the logits.
    let model: VolumeShape
    let x: LabelTaps
    let y: LabelTaps
    let z: LabelTaps
    /// Whether the native voxels are those of the model, so that nothing is interpolated.
    let isDirect: Bool
    private let isTorch: Bool
    /// The separate axis if its samples are interpolated too; this changes the order of terms.
    private let lastAxis: Int?

    /// - Parameter box: the part of the native grid that the logits cover.
    /// - Throws: ``NumericsError``, also for a rule of order 3.
    init(model: VolumeShape, box: VolumeShape, rule: ResamplingRule, separateAxis: Int?) throws(NumericsError) {
        guard VolumeShape(validating: model.x, y: model.y, z: model.z, limit: 1 << 31) != nil else {
            throw NumericsError.shape("logits of \(model) voxels cannot be labelled")
        }
        try rule.checkIsNotCubic("logits", from: model, to: box, separateAxis: separateAxis)
        self.model = model
        isDirect = rule.changesNothing(from: model, to: box)
        isTorch = rule.method == .torch
        lastAxis = rule.method == .spline && rule.orderZ != .nearest ? separateAxis : nil
        let rule = isDirect ? ResamplingRule(order: .nearest) : rule
        let taps = AxisTaps.along(model, to: box, rule: rule, separateAxis: separateAxis)
        (x, y, z) = (LabelTaps(taps.x), LabelTaps(taps.y), LabelTaps(taps.z))
    }

    /// The rows of class 0 around native row (j, k).
    /// - Parameters:
    ///   - planes: the last two planes that were pushed; plane p is in half p % 2.
    ///   - planeCount: the values of a plane: classes times its voxels. 0 if `planes` is the only plane that is needed.
    func rows(_ j: Int, _ k: Int, in planes: UnsafePointer<Float>, planeCount: Int) -> Rows {
        let below = planes + Int(z.first[k] % 2) * planeCount
        let above = planes + Int(z.second[k] % 2) * planeCount
        let front = Int(y.first[j]) * model.x
        let back = Int(y.second[j]) * model.x
        return Rows(
            belowFront: below + front,
            belowBack: below + back,
            aboveFront: above + front,
            aboveBack: above + back
        )
    }

    /// Calls `body` with the taps of row (j, k) in float32.
    func withTaps(_ j: Int, _ k: Int, between rows: Rows, _ body: (inout nk_label_taps) -> Void) {
        x.withIndices { x0, x1 in
            x.withSingleWeights { wx0, wx1 in
                var taps = nk_label_taps(
                    z0y0: rows.belowFront,
                    z0y1: rows.belowBack,
                    z1y0: rows.aboveFront,
                    z1y1: rows.aboveBack,
                    class_step: model.sliceCount,
                    wz0: z.firstSingle[k],
                    wz1: z.secondSingle[k],
                    wy0: y.firstSingle[j],
                    wy1: y.secondSingle[j],
                    x0: x0,
                    x1: x1,
                    wx0: wx0,
                    wx1: wx1
                )
                body(&taps)
            }
        }
    }

    /// Labels row (j, k).
    func label(
        _ labels: UnsafeMutablePointer<UInt16>,
        _ j: Int,
        _ k: Int,
        between rows: Rows,
        _ rounding: SliceLabeler.Rounding,
        _ decision: nk_label_decision
    ) {
        if isDirect {
            nk_label_row_direct(labels, x.first.count, rows.belowFront, model.sliceCount, decision)
        } else if rounding == .half, !isTorch {
            labelHalf(labels, j, k, between: rows, decision)
        } else {
            withTaps(j, k, between: rows) { nk_label_row(labels, x.first.count, &$0, decision) }
        }
    }

    /// Labels row (j, k) with sums in float64, rounded to float16.
    private func labelHalf(
        _ labels: UnsafeMutablePointer<UInt16>,
        _ j: Int,
        _ k: Int,
        between rows: Rows,
        _ decision: nk_label_decision
    ) {
        let alongZ = (z.firstWeight[k], z.secondWeight[k])
        let alongY = (y.firstWeight[j], y.secondWeight[j])
        let isYLast = lastAxis == 1
        x.withIndices { x0, x1 in
            withPointers(x.firstWeight, x.secondWeight) { wx0, wx1 in
                var taps = nk_half_taps(
                    // The kernel sums the inner axis first; the axis that is interpolated last is the outer one.
                    rows: isYLast
                        ? (rows.belowFront, rows.aboveFront, rows.belowBack, rows.aboveBack)
                        : (rows.belowFront, rows.belowBack, rows.aboveFront, rows.aboveBack),
                    class_step: model.sliceCount,
                    outer: isYLast ? alongY : alongZ,
                    inner: isYLast ? alongZ : alongY,
                    x0: x0,
                    x1: x1,
                    wx0: wx0,
                    wx1: wx1,
                    nesting: lastAxis == nil ? 0 : lastAxis == 0 ? 2 : 1
                )
                nk_label_row_half(labels, x.first.count, &taps, decision)
            }
        }
    }
}

private func withPointers<Element>(
    _ first: [Element],
    _ second: [Element],
    _ body: (UnsafePointer<Element>, UnsafePointer<Element>) -> Void
) {
    first.withUnsafeBufferPointer { first in
        second.withUnsafeBufferPointer { second in
            guard let first = first.baseAddress, let second = second.baseAddress else { return }
            body(first, second)
        }
    }
}
