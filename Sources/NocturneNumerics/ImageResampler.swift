internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// Brings an image to another number of voxels, normalising it on the way: nnU-Net's default resampler.
///
/// The stored volume is read through a ``VoxelView``, so neither the reoriented nor the cropped nor the normalised
/// image ever exists. Sums are float64 and in nnU-Net's order, so nearest and linear results equal its own to the last
/// bit, and cubic ones after rounding to float32. No smoothing when shrinking, exactly as the networks were trained.
///
/// A target of the same shape is a rearranged, normalised copy. Linear results cannot leave the range of the image, so
/// nnU-Net's clamping to it is left out; cubic results are clamped (per slice along a separate axis).
public struct ImageResampler: Sendable {
    public let view: VoxelView
    public let target: VolumeShape
    public let rule: ResamplingRule
    /// The axis of the view along which slices are kept apart, or nil.
    public let separateAxis: Int?
    public let map: PointwiseMap

    /// - Parameters:
    ///   - view: the source voxels in the order of the target (0 = x).
    ///   - separateAxis: what ``ResamplingRule/separateAxis(current:new:)`` says.
    ///   - map: applied to every source voxel before it is interpolated.
    public init(
        view: VoxelView,
        target: VolumeShape,
        rule: ResamplingRule,
        separateAxis: Int? = nil,
        map: PointwiseMap = .identity
    ) throws(NumericsError) {
        try rule.check(from: view.shape, to: target, separateAxis: separateAxis)
        guard map.mask?.view ?? view == view else {
            throw .shape("the mask of the body is of another part of the image")
        }
        self.view = view
        self.target = target
        self.rule = target == view.shape ? ResamplingRule(order: .nearest) : rule
        self.separateAxis = target == view.shape ? nil : separateAxis
        self.map = map
    }

    /// The most bytes held while resampling, beyond the stored volume: 4 a target voxel, and for order 3 another 8 for
    /// every voxel of the source widened by 24 along each axis that is interpolated.
    public var predictedBytes: Int { predictedWorkingBytes + target.count * MemoryLayout<Float>.stride }

    /// ``predictedBytes`` without the result.
    public var predictedWorkingBytes: Int {
        guard rule.order == .cubic else { return 0 }
        return SplineCoefficients.shape(for: view.shape, separateAxis: separateAxis).count * MemoryLayout<Double>.stride
    }

    /// The resampled image.
    /// - Throws: ``NumericsError`` when `voxels` is not the stored volume, ``AllocationError``, ``CancelledError``.
    /// - Complexity: 8 reads a target voxel for linear, 64 for cubic, in parallel by target slices.
    public func resample(_ voxels: FrozenVoxels<Float>, scope: ComputeScope) throws -> VoxelBuffer<Float> {
        var result = try VoxelBuffer<Float>(count: target.count)
        try result.withUnsafeMutableBufferPointer { try resample(voxels, into: $0, scope: scope) }
        return result
    }

    /// Writes the resampled image to `target.count` floats: one channel of a network's input.
    public func resample(
        _ voxels: FrozenVoxels<Float>,
        into result: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        guard voxels.count == view.storedCount else {
            throw NumericsError.count("image to resample", expected: view.storedCount, found: voxels.count)
        }
        guard result.count == target.count else {
            throw NumericsError.count("resampled image", expected: target.count, found: result.count)
        }
        if rule.order == .cubic {
            let coefficients = try SplineCoefficients.make(
                of: voxels,
                view: view,
                map: map,
                separateAxis: separateAxis,
                scope: scope
            )
            try interpolate(coefficients, into: result, scope: scope)
        } else {
            try interpolate(voxels, into: result, scope: scope)
        }
    }

    private func taps(_ axis: Int) -> AxisTaps {
        AxisTaps(inputs: view.shape[axis], outputs: target[axis], rule: rule, isSeparate: axis == separateAxis)
    }

    private func interpolate(
        _ voxels: FrozenVoxels<Float>,
        into result: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        let map = map.kernel
        let rows = RowTaps(x: taps(0), y: taps(1), z: taps(2), step: view.step, origin: view.origin)
        let target = target
        // Where k runs along the stored rows, neighbouring slices share cache lines: they are made together.
        let depth = abs(view.step.z) == 1 ? 16 : 1
        try voxels.withUnsafeBufferPointer { source in
            guard let sourceBase = source.baseAddress, let resultBase = result.baseAddress else { return }
            // Every range of slices writes its own part of the result.
            nonisolated(unsafe) let source = sourceBase
            nonisolated(unsafe) let result = resultBase
            try scope.forEachRange(of: target.z, by: depth) { slices in
                for j in 0..<target.y {
                    for k in slices {
                        rows.withRow(j, k) { offsets, wz, wy, count in
                            nk_resample_row_f32(
                                result + target.offset(0, j, k),
                                target.x,
                                source,
                                offsets,
                                wz,
                                wy,
                                count,
                                rows.xOffsets,
                                rows.x.weights,
                                Int32(rows.x.count),
                                map
                            )
                        }
                    }
                }
            }
        }
    }

    private func interpolate(
        _ coefficients: borrowing SplineCoefficients,
        into result: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        let shape = coefficients.shape
        let rows = RowTaps(
            x: taps(0),
            y: taps(1),
            z: taps(2),
            step: SIMD3(1, shape.x, shape.sliceCount),
            origin: 0
        )
        let target = target
        let separateAxis = separateAxis
        // Bounds of every output voxel along the separate axis, or one for all.
        let along = separateAxis.map { taps($0).indices } ?? [0]
        let lowest = along.map { coefficients.lowest[$0] }
        let highest = along.map { coefficients.highest[$0] }
        try coefficients.values.withUnsafeBufferPointer { source in
            guard let sourceBase = source.baseAddress, let resultBase = result.baseAddress else { return }
            nonisolated(unsafe) let source = sourceBase
            nonisolated(unsafe) let result = resultBase
            try scope.forEach(target.z) { k in
                for j in 0..<target.y {
                    let bound = separateAxis == 2 ? k : separateAxis == 1 ? j : 0
                    rows.withRow(j, k) { offsets, wz, wy, count in
                        lowest.withUnsafeBufferPointer { lowest in
                            highest.withUnsafeBufferPointer { highest in
                                guard let low = lowest.baseAddress, let high = highest.baseAddress else { return }
                                nk_resample_row_f64(
                                    result + target.offset(0, j, k),
                                    target.x,
                                    source,
                                    offsets,
                                    wz,
                                    wy,
                                    count,
                                    rows.xOffsets,
                                    rows.x.weights,
                                    Int32(rows.x.count),
                                    low + bound,
                                    high + bound,
                                    separateAxis == 0 ? 1 : 0
                                )
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The taps of three axes as the kernels want them: rows of the source with two weights each, then offsets along them.
private struct RowTaps: Sendable {
    let x: AxisTaps
    let y: AxisTaps
    let z: AxisTaps
    let xOffsets: [Int]
    private let step: SIMD3<Int>
    private let origin: Int

    init(x: AxisTaps, y: AxisTaps, z: AxisTaps, step: SIMD3<Int>, origin: Int) {
        self.x = x
        self.y = y
        self.z = z
        self.step = step
        self.origin = origin
        xOffsets = x.indices.map { $0 * step.x }
    }

    /// Offsets and weights of the source rows that make up row (j, k), z outermost.
    func withRow(
        _ j: Int,
        _ k: Int,
        _ body: (UnsafePointer<Int>, UnsafePointer<Double>, UnsafePointer<Double>, Int32) -> Void
    ) {
        let zOutputs = z.indices.count / z.count
        let yOutputs = y.indices.count / y.count
        var offsets = InlineArray<16, Int>(repeating: 0)
        var wz = InlineArray<16, Double>(repeating: 0)
        var wy = InlineArray<16, Double>(repeating: 0)
        var rows = 0
        for a in 0..<z.count {
            for b in 0..<y.count {
                offsets[rows] =
                    origin + z.indices[a * zOutputs + k] * step.z + y.indices[b * yOutputs + j] * step.y
                wz[rows] = z.weights[a * zOutputs + k]
                wy[rows] = y.weights[b * yOutputs + j]
                rows += 1
            }
        }
        let count = Int32(rows)
        offsets.span.withUnsafeBufferPointer { offsets in
            wz.span.withUnsafeBufferPointer { wz in
                wy.span.withUnsafeBufferPointer { wy in
                    guard let o = offsets.baseAddress, let z = wz.baseAddress, let y = wy.baseAddress else { return }
                    body(o, z, y, count)
                }
            }
        }
    }
}
