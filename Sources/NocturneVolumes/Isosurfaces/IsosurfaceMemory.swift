import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturnePostprocess

/// Plans every large buffer of a volume from its header alone.
struct IsosurfaceMemory {
    let source: VolumeSource
    let options: IsosurfaceOptions

    /// The most triangles of one surface.
    ///
    /// A body's skin has about 8 triangles for every voxel of the grid's mean cross-section, bones of a CT four times
    /// as many; noise has several for every voxel of the volume. Small volumes are not limited.
    static func triangleLimit(of shape: VolumeShape) -> Int {
        let allowed = min(max(64 * VolumeMemory.section(shape), 1 << 20), 1 << 26)
        return min(allowed, IsosurfaceExtractor.triangleBound(of: shape))
    }

    /// - Parameter lean: ignored; there is only one way.
    func plan(threads: Int, lean: Bool) -> ItemPlan {
        let shape = source.geometry.shape
        let limit = Self.triangleLimit(of: shape)
        return ItemPlan(
            buffers: [
                PlannedBuffer("source voxels", bytes: shape.count * 4, from: .load, through: .render),
                PlannedBuffer("slices before resampling", bytes: (source.storedVoxels ?? 0) * 4, in: .load),
                PlannedBuffer("decoder", bytes: source.decoderBytes * threads, in: .load),
                PlannedBuffer("labels", bytes: shape.count * 2, in: .finish),
                PlannedBuffer("measuring", bytes: LabelMeasurement.predictedBytes(threads: threads), in: .finish),
                PlannedBuffer(
                    "surface",
                    bytes: IsosurfaceExtractor.predictedBytes(shape, triangles: limit),
                    in: .render
                ),
            ] + options.pictures.buffers(shape, hasRegions: false, threads: threads),
            steps: 1,
            isLean: lean,
            diskBytes: (1 << 20) + diskBytes(limit) + options.pictures.diskBytes(shape)
        )
    }

    /// A quarter of the limit for each surface, of 50 bytes a triangle as in STL. What results really take replaces the
    /// prediction after a few items.
    private func diskBytes(_ limit: Int) -> Int {
        options.surfaces.meshes == .none ? 0 : options.values.count * limit / 4 * 50
    }
}
