public import NocturneConcurrency
public import NocturneCore

/// Resamples an image to another number of voxels and normalises it in the same pass, as nnU-Net's resamplers do.
///
/// The stored volume is read through a ``VoxelView``, so the reoriented, cropped or normalised image is never stored in
/// memory. No smoothing is applied when shrinking, exactly as in the training of the networks. A target of the same
/// shape is a rearranged, normalised copy.
///
/// **Splines** are summed in float64. Nearest and linear results equal nnU-Net's to the last bit. Cubic results are
/// computed along one axis after the other, where nnU-Net sums all 64 terms at once, and along the slowest axis from a
/// truncated window whose omitted weights are below 1e-18. Before rounding to float32, this changes the last bits of
/// float64; after rounding, less than one voxel in ten million, by one unit in the last place. Linear results cannot
/// leave the range of the image, so nnU-Net's clamping to it is omitted; cubic results are clamped (per slice along a
/// separate axis).
///
/// **The torch method** uses float32 throughout and does not clamp. Its sums do not use fused multiply-add, which torch
/// uses on processors that have it: the results differ by one or two units in the last place.
///
/// A NaN voxel makes its neighbourhood NaN for order 1. For order 3 it affects a part of the image that depends on its
/// shape (all of it in nnU-Net): reject such images before resampling.
public struct ImageResampler: Sendable {
    /// How the stored voxels are read.
    public let view: VoxelView
    /// The shape of the result, in the axis order of ``view``.
    public let target: VolumeShape
    /// Method and order of interpolation.
    public let rule: ResamplingRule
    /// The axis of the view along which slices are kept apart, or nil.
    public let separateAxis: Int?
    /// The normalisation, which is applied before interpolation as in nnU-Net.
    public let map: PointwiseMap
    /// Whether results lose their fractions, toward zero, before they are rounded to float32; not with order 3, a separate
    /// axis, or the torch method.
    public let truncates: Bool

    /// - Parameters:
    ///   - view: the source voxels in the order of the target (0 = x).
    ///   - separateAxis: the result of ``ResamplingRule/separateAxis(current:new:)``.
    ///   - map: applied to every source voxel before interpolation. Its mask, if any, must be of the same view.
    /// - Throws: ``NumericsError`` for inconsistent shapes, axes and masks.
    public init(
        view: VoxelView,
        target: VolumeShape,
        rule: ResamplingRule,
        separateAxis: Int? = nil,
        map: PointwiseMap = .identity,
        truncates: Bool = false
    ) throws(NumericsError) {
        try rule.check(from: view.shape, to: target, separateAxis: separateAxis)
        guard map.mask?.view ?? view == view else {
            throw .shape("the body mask covers another part of the image")
        }
        self.view = view
        self.target = target
        let isSame = rule.changesNothing(from: view.shape, to: target)
        // A copy needs no interpolation, so every rule is replaced by the cheapest one.
        self.rule = isSame ? ResamplingRule(order: .nearest) : rule
        self.separateAxis = isSame ? nil : separateAxis
        self.map = map
        self.truncates = truncates
        guard !truncates || !isStreamed && rule.method != .torch else {
            throw .value("only results of orders 0 and 1 can be truncated")
        }
    }

    /// The peak memory in bytes while resampling, beyond the stored volume, the mask and the result: nothing for orders 0
    /// and 1; for order 3 some tens of planes of float64, whatever the depth of the image. Every thread adds 256 bytes
    /// times the longest side.
    public var predictedWorkingBytes: Int { isStreamed ? StreamedResampling.workingBytes(self) : 0 }

    /// Cubic interpolation, and linear interpolation between slices that were interpolated in float64.
    private var isStreamed: Bool {
        rule.method == .spline && (rule.order == .cubic || separateAxis != nil && rule.orderZ != .nearest)
    }

    /// The resampled image.
    /// - Throws: ``NumericsError`` when `voxels` is not the stored volume, ``AllocationError``, ``CancelledError``.
    /// - Complexity: for cubic a few sums per source and target voxel, for linear 8 reads per target voxel; in
    ///   parallel.
    public func resample(_ voxels: FrozenVoxels<Float>, scope: ComputeScope) throws -> VoxelBuffer<Float> {
        var result = try VoxelBuffer<Float>(count: target.count)
        try result.withUnsafeMutableBufferPointer { try resample(voxels, into: $0, scope: scope) }
        return result
    }

    /// Writes the resampled image to `target.count` floats: one channel of a network's input. Several channels may be
    /// stored one after the other (`UnsafeMutableBufferPointer(rebasing:)`).
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
        try voxels.withUnsafeBufferPointer { source in
            try map.withMask { inside in
                guard let from = source.baseAddress, let to = result.baseAddress else { return }
                if isStreamed {
                    try StreamedResampling(self).resample(from, inside: inside, into: to, scope: scope)
                } else {
                    try RowResampling(self).resample(from, inside: inside, into: to, scope: scope)
                }
            }
        }
    }
}
