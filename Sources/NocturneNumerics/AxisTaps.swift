internal import NocturneCore

/// The input samples along one axis that contribute to each output sample, and their weights.
///
/// Output k is at position u(k) = (k + 0.5) * (n / m) - 0.5 of the input (areas aligned, no smoothing when shrinking),
/// as in skimage's `resize`, which nnU-Net uses.
struct AxisTaps: Sendable {
    /// 1, 2 or 4.
    let count: Int
    /// Sample of tap t of output k at `t * outputs + k`, in 0..<inputs (plus the padding, for cubic).
    let indices: [Int]
    let weights: [Double]

    /// Samples added by edge replication at both ends before the cubic prefilter.
    /// As many as SciPy's `_prepad_for_spline_filter` adds for the mode `nearest`; otherwise the filter would have the wrong
    /// boundary.
    static let cubicPadding = 12

    init(inputs n: Int, outputs m: Int, order: ResamplingRule.Order) {
        let ratio = Double(n) / Double(m)
        let positions = (0..<m).map { (Double($0) + 0.5) * ratio - 0.5 }
        switch order {
        case .nearest, .linear: self.init(positions: positions, inputs: n, isNearest: order == .nearest)
        case .cubic: self.init(cubicPositions: positions, inputs: n)
        }
    }

    /// The four samples around each position of the axis after padding.
    private init(cubicPositions positions: [Double], inputs n: Int) {
        count = 4
        let size = n + 2 * Self.cubicPadding
        let shifted = positions.map { $0 + Double(Self.cubicPadding) }
        var indices: [Int] = []
        var weights = [[Double]](repeating: [], count: 4)
        for tap in 0..<4 {
            // The two samples up to the position, then the two after it.
            indices += shifted.map { clamped(Int($0.rounded(.down)) - 1 + tap, size) }
        }
        for position in shifted {
            // The cubic B-spline at distances 1 + t, t, 1 − t and 2 − t; SciPy too computes the last weight as the rest.
            let t = position - position.rounded(.down)
            let q = 1 - t
            let w0 = q * q * q / 6
            let w1 = (t * t * (t - 2) * 3 + 4) / 6
            let w2 = (q * q * (q - 2) * 3 + 4) / 6
            weights[0].append(w0)
            weights[1].append(w1)
            weights[2].append(w2)
            weights[3].append(1 - w0 - w1 - w2)
        }
        self.indices = indices
        self.weights = weights.flatMap { $0 }
    }

    /// The taps of torch's `interpolate`, computed in float32: linear from positions clamped to at least 0, or
    /// "nearest-exact".
    init(torchInputs n: Int, outputs m: Int, isNearest: Bool) {
        let scale = Float(n) / Float(m)
        if isNearest {
            count = 1
            indices = (0..<m).map { clamped(Int(((Float($0) + 0.5) * scale).rounded(.down)), n) }
            weights = Array(repeating: 1, count: m)
        } else {
            count = 2
            let positions = (0..<m).map { max(scale * (Float($0) + 0.5) - 0.5, 0) }
            let first = positions.map { clamped(Int($0), n) }
            let second = zip(first, positions).map { index, position in
                min(max(position - Float(index), 0), 1)
            }
            indices = first + first.map { clamped($0 + 1, n) }
            weights = second.map { Double(1 - $0) } + second.map { Double($0) }
        }
    }

    /// The taps of SciPy's `ndimage.zoom`: output k is at position k * ((n - 1) / (m - 1)) of the input.
    init(zoomInputs n: Int, outputs m: Int, isNearest: Bool) {
        let ratio = m > 1 ? Double(n - 1) / Double(m - 1) : 1
        self.init(positions: (0..<m).map { Double($0) * ratio }, inputs: n, isNearest: isNearest)
    }

    /// The taps of torch's `grid_sample` in float64 with the border continued: output k is at position `start + step * k`. The
    /// nearest of two equally near samples is the even one.
    init(inputs n: Int, outputs m: Int, start: Double, step: Double, isNearest: Bool) {
        let positions = (0..<m).map { min(max(start + step * Double($0), 0), Double(n - 1)) }
        self.init(
            positions: isNearest ? positions.map { $0.rounded(.toNearestOrEven) } : positions,
            inputs: n,
            isNearest: isNearest
        )
    }

    /// The nearest sample to each position, or the two around it.
    private init(positions: [Double], inputs n: Int, isNearest: Bool) {
        if isNearest {
            count = 1
            indices = positions.map { clamped(Int(($0 + 0.5).rounded(.down)), n) }
            weights = Array(repeating: 1, count: positions.count)
        } else {
            count = 2
            let floors = positions.map { $0.rounded(.down) }
            indices = floors.map { clamped(Int($0), n) } + floors.map { clamped(Int($0) + 1, n) }
            let first = zip(positions, floors).map { 1 - ($0 - $1) }
            weights = first + first.map { 1 - $0 }
        }
    }

    /// The taps of one axis (0 = x) of a volume for a given rule.
    init(inputs: Int, outputs: Int, axis: Int, rule: ResamplingRule, isSeparate: Bool) {
        switch rule.method {
        case .spline, .none:
            self.init(inputs: inputs, outputs: outputs, order: isSeparate ? rule.orderZ : rule.order)
        case .torch:
            self.init(torchInputs: inputs, outputs: outputs, isNearest: isSeparate || rule.order == .nearest)
        case .zoom:
            self.init(zoomInputs: inputs, outputs: outputs, isNearest: rule.order == .nearest)
        case .monai:
            let alignment = rule.alignment ?? GridAlignment()
            self.init(
                inputs: inputs,
                outputs: outputs,
                start: alignment.start[axis],
                step: alignment.step[axis],
                isNearest: rule.order == .nearest
            )
        }
    }

    /// The taps of the three axes of a volume.
    static func along(
        _ source: VolumeShape,
        to target: VolumeShape,
        rule: ResamplingRule,
        separateAxis: Int?
    ) -> (x: AxisTaps, y: AxisTaps, z: AxisTaps) {
        func taps(_ axis: Int) -> AxisTaps {
            let isSeparate = axis == separateAxis
            return AxisTaps(
                inputs: source[axis],
                outputs: target[axis],
                axis: axis,
                rule: rule,
                isSeparate: isSeparate
            )
        }
        return (taps(0), taps(1), taps(2))
    }
}

private func clamped(_ index: Int, _ size: Int) -> Int { min(max(index, 0), size - 1) }
