import NocturneCore
import NocturneInference
import NocturneNumerics

/// The grid on which the network sees a volume.
struct ModelGrid {
    let orientation: AxisOrientation
    /// The part of the canonical grid that is resampled.
    let box: VoxelBox
    let shape: VolumeShape
    let order: ResamplingOrder
    let separateAxis: Int?

    /// - Parameter nonzero: finds the box to crop to; not called unless the package crops. For planning, which knows no
    ///   voxels, it returns nil: the whole grid, the most there can be.
    init(source: VolumeSource, model: SegmentationModel, nonzero: (AxisOrientation) throws -> VoxelBox?) throws {
        let settings = model.settings
        orientation = settings.orientation == .stored ? .stored : AxisOrientation(of: source.geometry.affine)
        let canonical = orientation.geometry(from: source.geometry)
        let whole = VoxelBox(all: canonical.shape)
        box = settings.cropToNonzero ? try nonzero(orientation) ?? whole : whole
        let spacing = canonical.spacing
        let wanted = settings.spacing.map { SIMD3($0[2], $0[1], $0[0]) } ?? spacing
        shape = try targetShape(of: box.shape, spacing: spacing, resampledTo: wanted)
        order = ResamplingOrder(rawValue: settings.imageOrder) ?? .linear
        // Only splines are worth keeping slices apart for; linear resampling is what the package was trained with.
        separateAxis = order == .cubic ? SeparateAxisRule.whenAnisotropic.axis(current: spacing, new: wanted) : nil
    }
}
