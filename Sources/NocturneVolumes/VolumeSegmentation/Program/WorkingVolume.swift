import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

/// What the parts of a program work on: the volume as stored, the volume on the grid of the program, or a box of either.
struct WorkingVolume: Sendable {
    /// Its geometry and spacing are those of ``channels``.
    var source: VolumeSource
    /// One per image channel.
    var channels: [FrozenVoxels<Float>]

    /// The voxels of a box.
    /// - Throws: `AllocationError`, `CancelledError`.
    func cropped(to box: VoxelBox, scope: ComputeScope) throws -> WorkingVolume {
        let geometry = source.geometry
        guard box != VoxelBox(all: geometry.shape) else { return self }
        let view = try VoxelView(stored: geometry.shape).cropped(to: box)
        var part = self
        part.channels = try channels.map { try Reorienter.copy($0, through: view, scope: scope).frozen() }
        part.source.geometry = geometry.cropped(to: box)
        return part
    }
}

extension VolumeGeometry {
    /// The geometry of a box of voxels.
    func cropped(to box: VoxelBox) -> VolumeGeometry {
        var geometry = VolumeGeometry(shape: box.shape, affine: affine)
        geometry.affine.translation = affine(SIMD3<Double>(box.lower))
        return geometry
    }
}
