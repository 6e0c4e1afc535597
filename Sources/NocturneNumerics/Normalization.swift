internal import CNocturneKernels
public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Maps intensities to the range a network was trained on: the schemes of nnU-Net, brainchop and MONAI, in float32.
public enum Normalization: Hashable, Sendable, Codable {
    case none
    /// Clamped to [lower, upper], minus `mean`, divided by max(`deviation`, 1e-8): statistics of the training set.
    case ct(lower: Float, upper: Float, mean: Float, deviation: Float)
    /// Minus the mean of this image, divided by its standard deviation. With `useMask`, both are computed over the
    /// voxels of the body, and the other voxels stay unchanged.
    case zScore(useMask: Bool = false)
    /// The same over the voxels of this image that are not 0; zeros stay 0. Without any deviation, values are not divided.
    case zScoreOfNonzero
    /// Minus `mean`, divided by `deviation`, which is not 0.
    case linear(mean: Float, deviation: Float)
    /// Minus the smallest value of this image, divided by the largest value after that subtraction.
    case rescale01
    /// The smallest value of this image becomes `lower`, the largest `upper`, and the others lie between in proportion.
    case rescale(lower: Float, upper: Float)
    /// Divided by 255. Values outside 0 to 255 are refused.
    case rgb01
    /// Minus a low quantile of this image, divided by the distance of a high one from it, without clipping. Of n values in
    /// ascending order these are the ones at floor(n · lower) and ceil(n · upper) − 1, as brainchop takes them.
    case quantiles(lower: Double, upper: Double)

    /// Whether ``map(for:view:mask:padding:scope:)`` needs a mask.
    public var needsMask: Bool { self == .zScore(useMask: true) }

    /// The map from voxel to voxel that results from this scheme for one image.
    ///
    /// Mean and deviation are summed in float64 (NumPy, as nnU-Net uses it, sums float32 in pairs: a difference of
    /// about 1.4e-7).
    /// - Parameters:
    ///   - view: the voxels over which the statistics are computed, that is the cropped image.
    ///   - mask: the body, of the same view and of all channels together; used only with ``needsMask``.
    ///   - padding: how many further voxels of the image's lowest value count; used only for quantiles.
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
        case .zScore(let useMask):
            if useMask, mask == nil {
                throw NumericsError.value("z-score within the body needs the mask of the body")
            }
            let mask = useMask ? mask : nil
            let statistics = try ImageStatistics(of: voxels, view: view, mask: mask, deviation: true, scope: scope)
            return PointwiseMap(
                shift: Float(statistics.mean),
                divisor: max(Float(statistics.deviation), 1e-8),
                mask: mask
            )
        case .zScoreOfNonzero:
            let mask = try ForegroundMask(nonzeroOf: voxels, view: view, scope: scope)
            let statistics = try ImageStatistics(of: voxels, view: view, mask: mask, deviation: true, scope: scope)
            let deviation = Float(statistics.deviation)
            return PointwiseMap(
                shift: Float(statistics.mean),
                divisor: deviation == 0 ? 1 : deviation,
                mask: mask
            )
        case .linear(let mean, let deviation):
            guard mean.isFinite, deviation.isFinite, deviation != 0 else {
                throw NumericsError.value("linear normalisation with mean \(mean) and deviation \(deviation)")
            }
            return PointwiseMap(shift: mean, divisor: deviation)
        case .rescale01:
            let statistics = try ImageStatistics(of: voxels, view: view, deviation: false, scope: scope)
            return PointwiseMap(
                shift: statistics.lowest,
                divisor: max(statistics.highest - statistics.lowest, 1e-8)
            )
        case .rescale(let lower, let upper):
            guard lower.isFinite, upper.isFinite, lower < upper else {
                throw NumericsError.value("rescaling to \(lower) ... \(upper)")
            }
            let statistics = try ImageStatistics(of: voxels, view: view, deviation: false, scope: scope)
            let divisor = max((statistics.highest - statistics.lowest) / (upper - lower), 1e-8)
            return PointwiseMap(shift: statistics.lowest - lower * divisor, divisor: divisor)
        case .rgb01:
            let statistics = try ImageStatistics(of: voxels, view: view, deviation: false, scope: scope)
            guard statistics.lowest >= 0, statistics.highest <= 255 else {
                throw NumericsError.value(
                    "colour values must be 0 to 255, but this image has values from \(statistics.lowest) "
                        + "to \(statistics.highest)"
                )
            }
            return PointwiseMap(divisor: 255)
        case .quantiles(let lower, let upper):
            let order = try OrderStatistics(of: voxels, view: view, scope: scope)
            let count = Double(order.count + padding)
            // The lowest values come first.
            let low = try order.value(at: Int((count * lower).rounded(.down)) - padding, scope: scope)
            let high = try order.value(at: Int((count * upper).rounded(.up)) - 1 - padding, scope: scope)
            return PointwiseMap(shift: low, divisor: max(high - low, 1e-8))
        }
    }
}

/// x ← min(max(x, lower), upper); x ← x − shift; x ← x / divisor; every step rounded to float32.
public struct PointwiseMap: Sendable {
    public var lower: Float
    public var upper: Float
    public var shift: Float
    public var divisor: Float
    /// The voxels that are mapped; those outside keep their value. nil for all voxels.
    public var mask: ForegroundMask?

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
    func withMask(_ body: (UnsafePointer<UInt8>?) throws -> Void) rethrows {
        if let mask {
            try mask.inside.withUnsafeBufferPointer { try body($0.baseAddress) }
        } else {
            try body(nil)
        }
    }
}
