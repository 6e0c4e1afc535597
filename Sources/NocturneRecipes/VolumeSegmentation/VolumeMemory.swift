import Foundation
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturnePipeline

/// Every large buffer of a volume's way, from its header alone.
struct VolumeMemory {
    let source: VolumeSource
    let model: SegmentationModel
    let options: SegmentationOptions

    func plan(threads: Int) throws -> ItemPlan {
        let voxels = source.geometry.shape.count
        let grid = try ModelGrid(source: source, model: model, nonzero: { _ in nil })
        let tiles = try TilePlan(
            imageShape: GridZYX(grid.shape),
            patch: model.patch,
            step: options.tileStep ?? model.settings.tileStep
        )
        let resampler = try ImageResampler(
            view: VoxelView(stored: source.geometry.shape, orientation: grid.orientation).cropped(to: grid.box),
            target: grid.shape,
            order: grid.order,
            separateAxis: grid.separateAxis
        )
        // What grows with surfaces is guessed from the grid's mean cross-section: a body fills about two of them, a map
        // full of specks more. Components are kept as runs, vertices while they are smoothed.
        let section = Int(pow(Double(voxels), 2.0 / 3))
        var buffers = [
            PlannedBuffer("source voxels", bytes: voxels * 4, from: .load, through: .finish),
            PlannedBuffer("decoder", bytes: (8 << 20) * threads, from: .load, through: .load),
            PlannedBuffer("resampling", bytes: resampler.predictedWorkingBytes, from: .prepare, through: .prepare),
            PlannedBuffer("network input", bytes: grid.shape.count * 4, from: .prepare, through: .infer),
            PlannedBuffer(
                "tile sums",
                bytes: RollingAccumulator.predictedBytes(plan: tiles, classes: model.classes),
                from: .infer,
                through: .infer
            ),
            PlannedBuffer(
                "logit planes",
                bytes: SlabLabeler.predictedBytes(model: grid.shape, box: grid.box.shape, classes: model.classes),
                from: .infer,
                through: .infer
            ),
            PlannedBuffer("labels", bytes: voxels * 2, from: .infer, through: .write),
            PlannedBuffer("components", bytes: section * 96, from: .finish, through: .finish),
            PlannedBuffer("surfaces", bytes: section * 6 * 180, from: .mesh, through: .write),
            PlannedBuffer("compression", bytes: 24 << 20, from: .write, through: .write),
        ]
        if !grid.orientation.changesNothing {
            buffers.append(PlannedBuffer("labels in stored order", bytes: voxels * 2, from: .infer, through: .infer))
        }
        let cleans = model.settings.postprocessing
        if !cleans.keepLargest.isEmpty || !cleans.fillHoles.isEmpty || !cleans.minimumVolumeMm3.isEmpty {
            buffers.append(PlannedBuffer("labels before cleaning", bytes: voxels * 2, from: .finish, through: .finish))
        }
        return ItemPlan(buffers: buffers, steps: tiles.tileCount)
    }
}
