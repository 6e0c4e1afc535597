import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturnePictures
import NocturnePostprocess
import NocturneRecipeSupport

/// Plans every large buffer of an object from the facts known before its pixels are read.
struct ExistingMemory {
    let source: ExistingSource
    let options: ExistingLabelsOptions

    /// - Parameter lean: ignored; objects have no lean plan.
    func plan(threads: Int, lean: Bool) -> ItemPlan {
        let shape = source.geometry.shape
        let voxels = shape.count
        let isStructureSet = source.kind == .structureSet
        let surfaces = options.meshes == .none ? 0 : VolumeMemory.surfaceBytes(shape)
        return ItemPlan(
            buffers: [
                // Without images, the black background that labels are drawn on.
                PlannedBuffer("source voxels", bytes: voxels * 4, from: .load, through: .finish),
                PlannedBuffer("object's file", bytes: 2 * source.bytes, from: .load, through: .load),
                PlannedBuffer(
                    "decoder",
                    bytes: (source.image?.decoderBytes ?? VolumeSource.minimumDecoderBytes) * threads,
                    from: .load,
                    through: .load
                ),
                PlannedBuffer("contours", bytes: 64 * source.points, from: .load, through: .render),
                PlannedBuffer(
                    "label volumes",
                    bytes: voxels * 2 * source.volumes,
                    from: isStructureSet ? .prepare : .load,
                    through: .write
                ),
                PlannedBuffer(
                    "labels in the order of the file",
                    bytes: source.kind == .labelMap ? voxels * 2 : 0,
                    from: .load,
                    through: .load
                ),
                PlannedBuffer(
                    "contours being filled",
                    bytes: isStructureSet
                        ? voxels * 2 + 64 * source.points + (shape.sliceCount + shape.y) * threads : 0,
                    from: .prepare,
                    through: .prepare
                ),
                PlannedBuffer(
                    "labels as drawn",
                    bytes: source.volumes > 1 ? voxels * 2 : 0,
                    from: .finish,
                    through: .finish
                ),
                PlannedBuffer(
                    "measuring",
                    bytes: max(
                        LabelMeasurer.predictedBytes(threads: threads),
                        ComponentCounter.predictedBytes(shape)
                    ),
                    from: .finish,
                    through: .finish
                ),
                PlannedBuffer(
                    "pictures",
                    bytes: options.preview == .none ? 0 : Preview.predictedBytes(shape, threads: threads),
                    from: .finish,
                    through: .finish
                ),
                PlannedBuffer(
                    "surfaces",
                    bytes: isStructureSet ? bytesPerPoint * source.mostPoints + coarseBytes : surfaces,
                    from: .render,
                    through: .render
                ),
                PlannedBuffer("compression", bytes: NIfTIWriter.compressionBytes, from: .write, through: .write),
            ],
            steps: 1,
            isLean: lean,
            diskBytes: voxels * source.volumes / 4 + (1 << 20) + (isStructureSet ? 400 * source.points : surfaces / 4)
        )
    }

    /// About two vertices and four triangles: while they are smoothed, in the surface and during measurement.
    private let bytesPerPoint = 640
    /// For contours with few corners, whose surface has more vertices than they have; and for the bits of the grid.
    private let coarseBytes = 32 << 20
}
