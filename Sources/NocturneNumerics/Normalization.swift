internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

/// How intensities are brought to the range a network was trained on: nnU-Net's schemes, in its float32 arithmetic.
public enum Normalization: Hashable, Sendable, Codable {
    case none
    /// Clamped to [lower, upper], minus `mean`, over max(`deviation`, 1e-8): numbers of the training set.
    case ct(lower: Float, upper: Float, mean: Float, deviation: Float)
    /// Minus the mean of this image, over its standard deviation. With a mask: ``ForegroundMask/zScored(_:scope:)``.
    case zScore
    /// Minus the smallest value of this image, over the largest of what is left.
    case rescale01

    /// The map from voxel to voxel this scheme comes to for one image.
    ///
    /// Mean and deviation are summed in float64 (NumPy, as nnU-Net uses it, sums float32 in pairs: about 1.4e-7 off).
    /// - Parameter view: the voxels the statistics are taken over, that is the cropped image.
    /// - Throws: ``NumericsError`` for constants or statistics that are not finite; ``CancelledError``.
    /// - Complexity: `ct` and `none` are free, `zScore` reads the image twice, `rescale01` once, in parallel, in place.
    public func map(
        for voxels: FrozenVoxels<Float>,
        view: VoxelView,
        scope: ComputeScope
    ) throws -> PointwiseMap {
        switch self {
        case .none:
            return .identity
        case .ct(let lower, let upper, let mean, let deviation):
            guard [lower, upper, mean, deviation].allSatisfy(\.isFinite), lower <= upper else {
                throw NumericsError.value(
                    "CT normalisation from \(lower) to \(upper), mean \(mean), deviation \(deviation)"
                )
            }
            return PointwiseMap(lower: lower, upper: upper, shift: mean, divisor: max(deviation, 1e-8))
        case .zScore:
            let statistics = try ImageStatistics(of: voxels, view: view, deviation: true, scope: scope)
            return PointwiseMap(
                shift: Float(statistics.mean),
                divisor: max(Float(statistics.deviation), 1e-8)
            )
        case .rescale01:
            let statistics = try ImageStatistics(of: voxels, view: view, deviation: false, scope: scope)
            return PointwiseMap(
                shift: statistics.lowest,
                divisor: max(statistics.highest - statistics.lowest, 1e-8)
            )
        }
    }
}

/// x ← min(max(x, lower), upper); x ← x − shift; x ← x / divisor; every step rounded to float32.
public struct PointwiseMap: Hashable, Sendable {
    public var lower: Float
    public var upper: Float
    public var shift: Float
    public var divisor: Float

    public init(lower: Float = -.infinity, upper: Float = .infinity, shift: Float = 0, divisor: Float = 1) {
        self.lower = lower
        self.upper = upper
        self.shift = shift
        self.divisor = divisor
    }

    public static let identity = PointwiseMap()

    public func callAsFunction(_ value: Float) -> Float {
        var x = value
        x = x < lower ? lower : x
        x = x > upper ? upper : x
        x = x - shift
        return x / divisor
    }
}

/// What normalisation wants to know of an image.
public struct ImageStatistics: Hashable, Sendable {
    public let mean: Double
    /// Of the population (divided by the number of voxels). 0 when it was not asked for.
    public let deviation: Double
    public let lowest: Float
    public let highest: Float

    /// - Throws: ``NumericsError/value(_:)`` when a voxel is not finite.
    public init(
        of voxels: FrozenVoxels<Float>,
        view: VoxelView,
        deviation wanted: Bool,
        scope: ComputeScope
    ) throws {
        guard voxels.count == view.storedCount else {
            throw NumericsError.count("image to normalise", expected: view.storedCount, found: voxels.count)
        }
        let view = view.inMemoryOrder
        let first = try sliceSums(voxels, view, around: nil, scope)
        let count = Double(view.shape.count)
        mean = first.reduce(0) { $0 + $1.sum } / count
        lowest = first.reduce(Float.infinity) { min($0, $1.lowest) }
        highest = first.reduce(-Float.infinity) { max($0, $1.highest) }
        guard mean.isFinite, lowest.isFinite, highest.isFinite else {
            throw NumericsError.value("the image has voxels that are not finite numbers, so it cannot be normalised")
        }
        let squares = wanted ? try sliceSums(voxels, view, around: mean, scope).reduce(0) { $0 + $1.sum } : 0
        deviation = (squares / count).squareRoot()
    }
}

/// One entry a slice, to be merged in this order whatever thread did which: sums of the values, or of the squares of
/// their distances from a centre.
private func sliceSums(
    _ voxels: FrozenVoxels<Float>,
    _ view: VoxelView,
    around centre: Double?,
    _ scope: ComputeScope
) throws -> [nk_statistics] {
    let none = nk_statistics(sum: 0, lowest: .infinity, highest: -.infinity)
    var slices = [nk_statistics](repeating: none, count: view.shape.z)
    try voxels.withUnsafeBufferPointer { source in
        try slices.withUnsafeMutableBufferPointer { results in
            guard let start = source.baseAddress else { return }
            nonisolated(unsafe) let results = results
            nonisolated(unsafe) let source = start
            try scope.forEach(view.shape.z) { k in
                for j in 0..<view.shape.y {
                    nk_row_statistics(
                        &results[k],
                        source + view.offset(0, j, k),
                        view.step.x,
                        view.shape.x,
                        centre ?? 0,
                        centre == nil ? 0 : 1
                    )
                }
            }
        }
    }
    return slices
}
