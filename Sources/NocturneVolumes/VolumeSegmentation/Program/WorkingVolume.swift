import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// The voxels of a volume on some grid.
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

    /// The volume with changed intensities.
    /// - Parameter change: from the channel and an intensity to the new one.
    func changed(scope: ComputeScope, by change: @Sendable (Int, Float) -> Float) throws -> WorkingVolume {
        var result = self
        result.channels = try channels.enumerated().map { index, channel in
            var copy = try channel.mutableCopy()
            let count = copy.count
            try copy.withParallelBuffer { voxels in
                try scope.forEachRange(of: count, by: 1 << 16) { range in
                    for place in range { voxels[place] = change(index, voxels[place]) }
                }
            }
            return copy.frozen()
        }
        return result
    }
}

/// A box of a stored volume, and the volume on which networks work there.
struct WorkingPlace: Sendable {
    /// In the stored volume.
    let box: VoxelBox
    /// From the box to the grid on which networks work; nil if that is the box.
    let grid: ProgramGrid?
    let volume: WorkingVolume

    /// - Parameters:
    ///   - stored: the whole volume.
    ///   - box: nil for all of it.
    ///   - clips: for each channel the map that clamps intensities in the box; nil for none.
    ///   - truncates: whether intensities in the box lose their fractions, toward zero.
    init(
        in stored: WorkingVolume,
        box: VoxelBox? = nil,
        clips: [PointwiseMap]? = nil,
        truncates: Bool = false,
        grid settings: ProgramGridSettings?,
        scope: ComputeScope
    ) throws {
        let box = box ?? VoxelBox(all: stored.source.geometry.shape)
        var part = try stored.cropped(to: box, scope: scope)
        if let clips { part = try part.changed(scope: scope) { channel, value in clips[channel](value) } }
        if truncates { part = try part.changed(scope: scope) { _, value in value.rounded(.towardZero) } }
        let grid = try settings.map { try ProgramGrid($0, of: part.source) }
        self.box = box
        self.grid = grid
        volume = try grid?.volume(of: part.source, channels: part.channels, scope: scope) ?? part
    }

    var shape: VolumeShape { volume.source.geometry.shape }
}

extension VolumeGeometry {
    /// The geometry of a box of voxels.
    func cropped(to box: VoxelBox) -> VolumeGeometry {
        var geometry = VolumeGeometry(shape: box.shape, affine: affine)
        geometry.affine.translation = affine(SIMD3<Double>(box.lower))
        return geometry
    }
}
