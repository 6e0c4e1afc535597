internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore

extension Normalization {
    /// Whether ``map(for:view:mask:padding:scope:)`` needs a mask.
    public var needsMask: Bool { self == .zScore(usesMask: true) }

    /// The map from voxel to voxel that results from this scheme for one image.
    ///
    /// Mean and deviation are summed in float64 (NumPy, as nnU-Net uses it, sums float32 in pairs: a difference of
    /// about 1.4e-7).
    /// - Parameters:
    ///   - view: the voxels over which the statistics are computed, that is the cropped image.
    ///   - mask: the body, of the same view and of all channels together; used only with ``needsMask``.
    ///   - padding: by how many voxels the image is enlarged to the patch; used only for quantiles that count them.
    /// - Throws: ``NumericsError`` for constants or statistics that are not finite, values that cannot be colours, and
    ///   a mask that is missing or of another view; ``CancelledError``.
    /// - Complexity: `ct` and `none` read nothing, `zScore` reads the image twice, `rescale01`, `rescale` and `rgb01` once,
    ///   `quantiles` three times, in parallel, without a copy; `zScoreOfNonzero` makes a mask of a byte per voxel.
    public func map(
        for voxels: FrozenVoxels<Float>,
        view: VoxelView,
        mask: ForegroundMask? = nil,
        padding: Int = 0,
        scope: ComputeScope
    ) throws -> PointwiseMap {
        func statistics(within mask: ForegroundMask? = nil, deviation: Bool) throws -> ImageStatistics {
            try ImageStatistics(of: voxels, view: view, mask: mask, deviation: deviation, scope: scope)
        }
        switch self {
        case .none:
            return .identity
        case .ct(let lower, let upper, let mean, let deviation):
            return try Self.ctMap(lower: lower, upper: upper, mean: mean, deviation: deviation)
        case .zScore(let usesMask):
            if usesMask, mask == nil {
                throw NumericsError.value("z-score within the body needs the mask of the body")
            }
            let mask = usesMask ? mask : nil
            let spread = try statistics(within: mask, deviation: true)
            return PointwiseMap(shift: Float(spread.mean), divisor: max(Float(spread.deviation), 1e-8), mask: mask)
        case .zScoreOfNonzero:
            let mask = try ForegroundMask(nonzeroOf: voxels, view: view, scope: scope)
            let spread = try statistics(within: mask, deviation: true)
            let deviation = Float(spread.deviation)
            return PointwiseMap(shift: Float(spread.mean), divisor: deviation == 0 ? 1 : deviation, mask: mask)
        case .linear(let mean, let deviation):
            return try Self.linearMap(mean: mean, deviation: deviation)
        case .rescale01:
            let range = try statistics(deviation: false)
            return PointwiseMap(shift: range.lowest, divisor: max(range.highest - range.lowest, 1e-8))
        case .rescale(let lower, let upper):
            guard lower.isFinite, upper.isFinite, lower < upper else {
                throw NumericsError.value("rescaling to \(lower) ... \(upper)")
            }
            let range = try statistics(deviation: false)
            let divisor = max((range.highest - range.lowest) / (upper - lower), 1e-8)
            return PointwiseMap(shift: range.lowest - lower * divisor, divisor: divisor)
        case .rgb01:
            let range = try statistics(deviation: false)
            guard range.lowest >= 0, range.highest <= 255 else {
                throw NumericsError.value(
                    "colour values must be 0 to 255, but this image has values from \(range.lowest) to \(range.highest)"
                )
            }
            return PointwiseMap(divisor: 255)
        case .quantiles(let lower, let upper, let countsPadding, let clips):
            let padding = countsPadding ? padding : 0
            let order = try OrderStatistics(of: voxels, view: view, scope: scope)
            let count = Double(order.count + padding)
            // The lowest values come first.
            let low = try order.value(at: Int((count * lower).rounded(.down)) - padding, scope: scope)
            let high = try order.value(at: Int((count * upper).rounded(.up)) - 1 - padding, scope: scope)
            let bounds: (lower: Float, upper: Float) = clips ? (low, high) : (-.infinity, .infinity)
            return PointwiseMap(lower: bounds.lower, upper: bounds.upper, shift: low, divisor: max(high - low, 1e-8))
        }
    }

    private static func ctMap(lower: Float, upper: Float, mean: Float, deviation: Float) throws -> PointwiseMap {
        guard [lower, upper, mean, deviation].allSatisfy(\.isFinite), lower <= upper else {
            throw NumericsError.value(
                "CT normalisation from \(lower) to \(upper), mean \(mean), deviation \(deviation)"
            )
        }
        return PointwiseMap(lower: lower, upper: upper, shift: mean, divisor: max(deviation, 1e-8))
    }

    private static func linearMap(mean: Float, deviation: Float) throws -> PointwiseMap {
        guard mean.isFinite, deviation.isFinite, deviation != 0 else {
            throw NumericsError.value("linear normalisation with mean \(mean) and deviation \(deviation)")
        }
        return PointwiseMap(shift: mean, divisor: deviation)
    }
}

/// x ← min(max(x, lower), upper); x ← x − shift; x ← x / divisor; every step rounded to float32.
public struct PointwiseMap: Sendable {
    /// The lower bound of the source value.
    public var lower: Float
    /// The upper bound of the source value.
    public var upper: Float
    /// Subtracted after the bounds were applied.
    public var shift: Float
    /// Not 0.
    public var divisor: Float
    /// The voxels that are mapped; those outside keep their value. nil for all voxels.
    public var mask: ForegroundMask?

    /// By default the identity.
    public init(
        lower: Float = -.infinity,
        upper: Float = .infinity,
        shift: Float = 0,
        divisor: Float = 1,
        mask: ForegroundMask? = nil
    ) {
        self.lower = lower
        self.upper = upper
        self.shift = shift
        self.divisor = divisor
        self.mask = mask
    }

    /// Clamps values to two quantiles of an image. A quantile q of n values in ascending order is at the place q · (n − 1), and
    /// linear between two values, as in NumPy and PyTorch.
    /// - Complexity: five reads of the image, in parallel.
    /// - Throws: ``NumericsError`` for values that are not finite; `CancelledError`.
    public init(
        clamping voxels: FrozenVoxels<Float>,
        _ shape: VolumeShape,
        to quantiles: ClosedRange<Double>,
        scope: ComputeScope
    ) throws {
        let order = try OrderStatistics(of: voxels, view: VoxelView(stored: shape), scope: scope)
        func value(_ quantile: Double) throws -> Float {
            let place = quantile * Double(order.count - 1)
            let below = try order.value(at: Int(place), scope: scope)
            let above = try order.value(at: Int(place) + 1, scope: scope)
            return below + Float(place - place.rounded(.down)) * (above - below)
        }
        self.init(lower: try value(quantiles.lowerBound), upper: try value(quantiles.upperBound))
    }

    /// Leaves every finite value unchanged.
    public static let identity = PointwiseMap()

    /// The mapped value of a voxel inside the mask.
    public func callAsFunction(_ value: Float) -> Float {
        var x = value
        x = x < lower ? lower : x
        x = x > upper ? upper : x
        x = x - shift
        return x / divisor
    }

    var kernel: nk_pointwise { nk_pointwise(lower: lower, upper: upper, shift: shift, divisor: divisor) }

    /// Calls `body` with the first byte of the mask, if there is one.
    func withMask<R>(_ body: (UnsafePointer<UInt8>?) throws -> R) rethrows -> R {
        if let mask {
            return try mask.inside.withUnsafeBufferPointer { try body($0.baseAddress) }
        } else {
            return try body(nil)
        }
    }
}
