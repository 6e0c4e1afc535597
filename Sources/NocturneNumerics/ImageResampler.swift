public import NocturneConcurrency
public import NocturneCore
import NocturneSystem

/// Brings an image to another number of voxels, normalising it on the way, as nnU-Net's resamplers do.
///
/// The stored volume is read through a ``VoxelView``, so neither the reoriented nor the cropped nor the normalised
/// image ever exists. No smoothing when shrinking, exactly as the networks were trained. A target of the same shape is
/// a rearranged, normalised copy.
///
/// **Splines** are summed in float64. Nearest and linear results equal nnU-Net's to the last bit. Cubic ones are made
/// along one axis after the other where nnU-Net sums all 64 terms at once, and along the slowest axis from a window
/// whose cut weighs less than 1e-18; before rounding to float32 that is a difference in the last bits of float64, after
/// it in less than one voxel in ten million, by one unit. Linear results cannot leave the range of the image, so
/// nnU-Net's clamping to it is left out; cubic results are clamped (per slice along a separate axis).
///
/// **The torch method** is float32 throughout and not clamped. Its sums are those of torch without fused multiplication
/// and addition, which torch uses on processors that have it: a unit or two in the last place.
///
/// A voxel that is not a number spoils its neighbourhood for order 1. For order 3 it spoils a part of the image that
/// depends on its shape (all of it in nnU-Net): do not let it come so far.
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
    ///   - map: applied to every source voxel before it is interpolated. Its mask, if any, is of the same view.
    /// - Throws: ``NumericsError`` for shapes, axes and masks that do not fit.
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

    /// The most bytes held while resampling, beyond the stored volume and the mask: 4 a target voxel, and what
    /// ``predictedWorkingBytes`` says.
    public var predictedBytes: Int { predictedWorkingBytes + target.count * MemoryLayout<Float>.stride }

    /// ``predictedBytes`` without the result: nothing for orders 0 and 1; for order 3 some tens of planes of float64,
    /// whatever the depth of the image. Every thread adds 256 bytes times the longest side.
    public var predictedWorkingBytes: Int { isStreamed ? StreamedResampling.workingBytes(self) : 0 }

    /// Cubic sums, and those that go on from sums of float64 within slices.
    private var isStreamed: Bool {
        rule.method == .spline && (rule.order == .cubic || separateAxis != nil && rule.orderZ != .nearest)
    }

    /// The resampled image.
    /// - Throws: ``NumericsError`` when `voxels` is not the stored volume, ``AllocationError``, ``CancelledError``.
    /// - Complexity: a few sums a voxel of source and target for cubic, 8 reads a target voxel for linear; in parallel.
    public func resample(_ voxels: FrozenVoxels<Float>, scope: ComputeScope) throws -> VoxelBuffer<Float> {
        var result = try VoxelBuffer<Float>(count: target.count)
        try result.withUnsafeMutableBufferPointer { try resample(voxels, into: $0, scope: scope) }
        return result
    }

    /// Writes the resampled image to `target.count` floats: one channel of a network's input, of which several may lie
    /// one after the other (`UnsafeMutableBufferPointer(rebasing:)`).
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
