internal import CNocturneKernels
internal import NocturneConcurrency
internal import NocturneCore

/// The cubic B-spline coefficients of an image in float64, on a grid widened by edge replication.
///
/// A separate axis is neither widened nor filtered: its slices are independent images.
struct SplineCoefficients: ~Copyable {
    private(set) var values: VoxelBuffer<Double>
    let shape: VolumeShape
    /// The range of the mapped image, to which results are clamped: one entry, or one a slice of the separate axis.
    private(set) var lowest: [Double]
    private(set) var highest: [Double]

    static func shape(for source: VolumeShape, separateAxis: Int?) -> VolumeShape {
        var shape = source
        for axis in 0..<3 where axis != separateAxis { shape[axis] += 2 * AxisTaps.cubicPadding }
        return shape
    }

    /// - Complexity: 8 bytes a voxel of the widened grid, three passes over it.
    static func make(
        of voxels: FrozenVoxels<Float>,
        view: VoxelView,
        map: PointwiseMap,
        separateAxis: Int?,
        scope: ComputeScope
    ) throws -> SplineCoefficients {
        let shape = shape(for: view.shape, separateAxis: separateAxis)
        let empty = try VoxelBuffer<Double>(count: shape.count)
        var result = SplineCoefficients(
            empty: empty,
            shape: shape,
            ranges: separateAxis.map { view.shape[$0] } ?? 1
        )
        try result.fill(from: voxels, view: view, map: map, separateAxis: separateAxis, scope: scope)
        try result.filter(separateAxis: separateAxis, scope: scope)
        return result
    }

    private init(empty values: consuming VoxelBuffer<Double>, shape: VolumeShape, ranges: Int) {
        self.values = values
        self.shape = shape
        lowest = Array(repeating: .infinity, count: ranges)
        highest = Array(repeating: -.infinity, count: ranges)
    }

    private mutating func fill(
        from voxels: FrozenVoxels<Float>,
        view: VoxelView,
        map: PointwiseMap,
        separateAxis: Int?,
        scope: ComputeScope
    ) throws {
        let shape = shape
        let padding = SIMD3<Int>(
            separateAxis == 0 ? 0 : AxisTaps.cubicPadding,
            separateAxis == 1 ? 0 : AxisTaps.cubicPadding,
            separateAxis == 2 ? 0 : AxisTaps.cubicPadding
        )
        // Every slice of the widened grid has bounds of its own for as many groups as there are; merged below.
        let groups = separateAxis == 2 ? 1 : lowest.count
        var low = [Float](repeating: .infinity, count: shape.z * groups)
        var high = [Float](repeating: -.infinity, count: shape.z * groups)
        try voxels.withUnsafeBufferPointer { source in
            try values.withUnsafeMutableBufferPointer { target in
                try low.withUnsafeMutableBufferPointer { low in
                    try high.withUnsafeMutableBufferPointer { high in
                        nonisolated(unsafe) let source = source
                        nonisolated(unsafe) let target = target
                        nonisolated(unsafe) let low = low
                        nonisolated(unsafe) let high = high
                        try scope.forEach(shape.z) { k in
                            let fromK = min(max(k - padding.z, 0), view.shape.z - 1)
                            for j in 0..<shape.y {
                                let fromJ = min(max(j - padding.y, 0), view.shape.y - 1)
                                let row = view.offset(0, fromJ, fromK)
                                let to = shape.offset(0, j, k)
                                for i in 0..<shape.x {
                                    let fromI = min(max(i - padding.x, 0), view.shape.x - 1)
                                    let value = map(source[row + fromI * view.step.x])
                                    target[to + i] = Double(value)
                                    let group = separateAxis == 0 ? i : separateAxis == 1 ? j : 0
                                    let at = k * groups + group
                                    if value < low[at] { low[at] = value }
                                    if value > high[at] { high[at] = value }
                                }
                            }
                        }
                    }
                }
            }
        }
        for k in 0..<shape.z {
            for group in 0..<groups {
                let to = separateAxis == 2 ? k : group
                lowest[to] = min(lowest[to], Double(low[k * groups + group]))
                highest[to] = max(highest[to], Double(high[k * groups + group]))
            }
        }
        // A slice of nothing but NaN has no range: leave its NaN alone.
        for index in lowest.indices where lowest[index] > highest[index] {
            lowest[index] = -.infinity
            highest[index] = .infinity
        }
    }

    private mutating func filter(separateAxis: Int?, scope: ComputeScope) throws {
        let shape = shape
        try values.withUnsafeMutableBufferPointer { values in
            guard let start = values.baseAddress else { return }
            nonisolated(unsafe) let base = start
            if separateAxis != 2 {
                try scope.forEach(shape.y) { j in
                    nk_spline_prefilter_lanes(base + j * shape.x, shape.z, shape.sliceCount, shape.x)
                }
            }
            try scope.forEach(shape.z) { k in
                let slice = base + k * shape.sliceCount
                if separateAxis != 1 { nk_spline_prefilter_lanes(slice, shape.y, shape.x, shape.x) }
                if separateAxis != 0 {
                    withUnsafeTemporaryAllocation(of: Double.self, capacity: 8 * shape.x) { scratch in
                        guard let scratch = scratch.baseAddress else { return }
                        nk_spline_prefilter_rows(slice, shape.x, shape.x, shape.y, scratch)
                    }
                }
            }
        }
    }
}
