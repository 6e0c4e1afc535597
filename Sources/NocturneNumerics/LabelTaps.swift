internal import CNocturneKernels

/// ``AxisTaps`` in the smaller types of the label kernels: always two taps, ascending.
struct LabelTaps: Sendable {
    let first: [Int32]
    let second: [Int32]
    let firstWeight: [Double]
    let secondWeight: [Double]
    /// The same weights in float32; each pair sums to 1.
    let firstSingle: [Float]
    let secondSingle: [Float]

    init(inputs: Int, outputs: Int, axis: Int, rule: ResamplingRule, isSeparate: Bool) {
        let taps = AxisTaps(inputs: inputs, outputs: outputs, axis: axis, rule: rule, isSeparate: isSeparate)
        let weights = Array(taps.weights[..<outputs])
        first = taps.indices[..<outputs].map { Int32($0) }
        // A tap of weight 0 must not be required: a slice that coincides with a plane needs only that plane.
        second = (0..<outputs).map { Int32(taps.indices[weights[$0] < 1 ? outputs + $0 : $0]) }
        firstWeight = weights
        secondWeight = weights.map { 1 - $0 }
        firstSingle = weights.map { Float($0) }
        secondSingle = weights.map { 1 - Float($0) }
    }
}

/// Labels rows of native voxels that lie between four rows of model voxels.
struct LabelRows: Sendable {
    let x: LabelTaps
    let y: LabelTaps
    let z: LabelTaps
    /// Number of floats from one class to the next.
    let classStep: Int
    /// Whether sums are float64 and rounded to float16.
    let isHalf: Bool
    /// The separate axis if it is interpolated too, after the axes within a slice.
    let lastAxis: Int?

    /// Labels row (j, k).
    /// - Parameter rows: of class 0 in the planes below and above it.
    func label(
        _ labels: UnsafeMutablePointer<UInt16>,
        _ j: Int,
        _ k: Int,
        between rows: ModelRows,
        _ decision: nk_label_decision
    ) {
        if isHalf {
            labelHalf(labels, j, k, between: rows, decision)
        } else {
            labelSingle(labels, j, k, between: rows, decision)
        }
    }

    private func labelSingle(
        _ labels: UnsafeMutablePointer<UInt16>,
        _ j: Int,
        _ k: Int,
        between rows: ModelRows,
        _ decision: nk_label_decision
    ) {
        x.withIndices { x0, x1 in
            x.withSingleWeights { wx0, wx1 in
                var taps = nk_label_taps(
                    z0y0: rows.belowFront,
                    z0y1: rows.belowBack,
                    z1y0: rows.aboveFront,
                    z1y1: rows.aboveBack,
                    class_step: classStep,
                    wz0: z.firstSingle[k],
                    wz1: z.secondSingle[k],
                    wy0: y.firstSingle[j],
                    wy1: y.secondSingle[j],
                    x0: x0,
                    x1: x1,
                    wx0: wx0,
                    wx1: wx1
                )
                nk_label_row(labels, x.first.count, &taps, decision)
            }
        }
    }

    private func labelHalf(
        _ labels: UnsafeMutablePointer<UInt16>,
        _ j: Int,
        _ k: Int,
        between rows: ModelRows,
        _ decision: nk_label_decision
    ) {
        let alongZ = (z.firstWeight[k], z.secondWeight[k])
        let alongY = (y.firstWeight[j], y.secondWeight[j])
        let isYLast = lastAxis == 1
        x.withIndices { x0, x1 in
            withPointers(x.firstWeight, x.secondWeight) { wx0, wx1 in
                var taps = nk_half_taps(
                    rows: isYLast
                        ? (rows.belowFront, rows.aboveFront, rows.belowBack, rows.aboveBack)
                        : (rows.belowFront, rows.belowBack, rows.aboveFront, rows.aboveBack),
                    class_step: classStep,
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

/// The four rows of model voxels around a row of native voxels: in the planes below and above it, in front of and behind it.
struct ModelRows {
    let belowFront: UnsafePointer<Float>
    let belowBack: UnsafePointer<Float>
    let aboveFront: UnsafePointer<Float>
    let aboveBack: UnsafePointer<Float>
}

extension LabelTaps {
    func withIndices(_ body: (UnsafePointer<Int32>, UnsafePointer<Int32>) -> Void) {
        withPointers(first, second, body)
    }

    func withSingleWeights(_ body: (UnsafePointer<Float>, UnsafePointer<Float>) -> Void) {
        withPointers(firstSingle, secondSingle, body)
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
