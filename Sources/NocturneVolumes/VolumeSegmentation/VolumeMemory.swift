import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneNumerics
import NocturnePictures
import NocturnePostprocess
import NocturneRecipeSupport

/// Plans every large buffer of a volume from its header alone.
struct VolumeMemory {
    let source: VolumeSource
    let model: SegmentationModel
    let options: SegmentationOptions
    var regions: RegionMeasures? = nil

    private var voxels: Int { source.geometry.shape.count }

    /// - Parameter lean: whether the sums of tiles are kept in a file.
    func plan(threads: Int, lean: Bool) throws -> ItemPlan {
        var buffers = [
            PlannedBuffer("source voxels", bytes: voxels * 4 * model.channelCount, from: .load, through: .finish),
            PlannedBuffer(
                "slices before resampling",
                bytes: (source.storedVoxels ?? 0) * 4,
                from: .load,
                through: .load
            ),
            PlannedBuffer("decoder", bytes: source.decoderBytes * threads, from: .load, through: .load),
        ]
        var steps = 0
        for (index, level) in model.levels.enumerated() {
            let grid = try ModelGrid(source: source, level: level.settings, nonzero: { _ in nil })
            let tiles = try grid.tiles(level, options)
            steps += tiles.tileCount
            buffers += try preparing(level, grid, isFirst: index == 0)
            buffers += inferring(level, grid, tiles, lean: lean)
        }
        buffers += finishing(threads)
        return ItemPlan(buffers: buffers, steps: steps, isLean: lean, diskBytes: diskBytes(lean: lean))
    }

    /// The first level's image is made by the preprocessor, a second one's during inference.
    private func preparing(_ level: LevelModel, _ grid: ModelGrid, isFirst: Bool) throws -> [PlannedBuffer] {
        let during: Stage = isFirst ? .prepare : .infer
        let view = try VoxelView(stored: source.geometry.shape, orientation: grid.orientation).cropped(to: grid.box)
        let resampler = try ImageResampler(
            view: view,
            target: grid.shape,
            rule: grid.image,
            separateAxis: grid.image.separateAxis(current: grid.nativeSpacing, new: grid.spacing)
        )
        var buffers = [
            PlannedBuffer("resampling", bytes: resampler.predictedWorkingBytes, from: during, through: during),
            PlannedBuffer(
                "network input",
                bytes: grid.shape.count * 4 * level.settings.inputChannels,
                from: during,
                through: .infer
            ),
        ]
        if level.settings.normalizations.contains(.zScore(usesMask: true)) || !isFirst {
            // The mask, and one normalized channel if values outside the mask stay unchanged.
            buffers.append(PlannedBuffer("mask", bytes: grid.box.shape.count * 5, from: during, through: during))
        }
        if !isFirst {
            buffers.append(
                PlannedBuffer("labels of the previous level", bytes: voxels * 2, from: .infer, through: .infer)
            )
        }
        return buffers
    }

    private func inferring(_ level: LevelModel, _ grid: ModelGrid, _ tiles: TilePlan, lean: Bool) -> [PlannedBuffer] {
        let sums =
            lean
            ? RollingAccumulator.predictedBytesInFile(plan: tiles, classes: level.classes)
            : RollingAccumulator.predictedBytes(plan: tiles, classes: level.classes)
        var buffers = [
            PlannedBuffer(
                "tile sums",
                bytes: sums * level.accumulatorCount(options),
                from: .infer,
                through: .infer
            ),
            PlannedBuffer(
                "logit planes",
                bytes: SlabLabeler.predictedBytes(model: grid.shape, box: grid.box.shape, classes: level.classes),
                from: .infer,
                through: .infer
            ),
        ]
        if level.accumulatorCount(options) > 1 {
            let plane = grid.shape.sliceCount * level.classes * 4
            buffers.append(PlannedBuffer("mean of networks", bytes: plane, from: .infer, through: .infer))
        }
        if !grid.orientation.changesNothing {
            buffers.append(PlannedBuffer("labels in stored order", bytes: voxels * 2, from: .infer, through: .infer))
        }
        return buffers
    }

    /// The files of the result, and the sums if they are in a file. Checkpoints are left out: ``LabelCheckpoint`` makes none
    /// where the disk is nearly full.
    ///
    /// Label maps are compressed: segmentations take less than a bit a voxel, two are planned. What results of this model
    /// really take replaces the prediction after a few items (`LearnedPace`).
    private func diskBytes(lean: Bool) -> Int {
        let shape = source.geometry.shape
        let surfaces = options.meshes == .none ? 0 : Self.surfaceBytes(shape) / 4
        let objects = options.writesSegmentationObject ? voxels / 4 : 0
        let pictures = options.drawsSlices ? voxels / 4 * (options.planes == .all ? 3 : 1) : 0
        let review = options.review == .volumes ? ReviewVolume.workingBytes(shape) : 0
        let rendering = options.rendering == .none ? 0 : RenderingWriter.diskBytes
        return voxels / 4 + (1 << 20) + review + surfaces + objects + pictures + rendering + (lean ? voxels * 8 : 0)
    }

    /// The mean cross-section of the grid in voxels.
    static func section(_ shape: VolumeShape) -> Int { Int(pow(Double(shape.count), 2.0 / 3)) }

    // A header does not determine the number of components and the size of surfaces. The plan allows far more than a
    // body needs (its skin has about four vertices for every voxel of the grid's mean cross-section); a map with very
    // many small components is processed in parts.
    static func componentBytes(_ shape: VolumeShape) -> Int { section(shape) * 96 + (1 << 20) }
    static func surfaceBytes(_ shape: VolumeShape) -> Int { section(shape) * 18 * 180 + (1 << 20) }
    /// Bytes of a DICOM segmentation or structure set: as for surfaces, plus an allowance for the small components of a
    /// small volume.
    static func objectBytes(_ shape: VolumeShape) -> Int { surfaceBytes(shape) + (64 << 20) }

    /// Measuring follows cleaning, one measurement after the other.
    private func measuringBytes(_ threads: Int) -> Int {
        max(
            LabelMeasurer.predictedBytes(threads: threads),
            ComponentCounter.predictedBytes(source.geometry.shape),
            regions?.predictedBytes(in: source.geometry, threads: threads) ?? 0,
            ReferenceComparison(options, source).predictedBytes(threads: threads)
        )
    }

    private func finishing(_ threads: Int) -> [PlannedBuffer] {
        let shape = source.geometry.shape
        var buffers = [
            PlannedBuffer("labels", bytes: voxels * 2, from: .infer, through: .write),
            PlannedBuffer(
                "components, or measuring",
                bytes: max(Self.componentBytes(shape), measuringBytes(threads)),
                from: .finish,
                through: .finish
            ),
            PlannedBuffer(
                "pictures",
                bytes: (options.preview == .none ? 0 : Preview.predictedBytes(shape, threads: threads))
                    + (options.drawsSlices ? SliceWriter.workingBytes : 0),
                from: .finish,
                through: .finish
            ),
            PlannedBuffer("compression", bytes: NIfTIWriter.compressionBytes, from: .write, through: .write),
        ]
        if options.rendering != .none {
            let bytes = RenderingWriter.workingBytes(shape, threads: threads)
            buffers.append(PlannedBuffer("rendering", bytes: bytes, from: .finish, through: .finish))
        }
        if options.review == .volumes {
            let bytes = ReviewVolume.workingBytes(shape)
            buffers.append(PlannedBuffer("review volume", bytes: bytes, from: .finish, through: .write))
        }
        if options.meshes != .none {
            buffers.append(PlannedBuffer("surfaces", bytes: Self.surfaceBytes(shape), from: .render, through: .render))
        }
        if !model.settings.postprocessing.isEmpty || options.labels != nil {
            buffers.append(PlannedBuffer("labels before cleaning", bytes: voxels * 2, from: .finish, through: .finish))
        }
        if options.writesSegmentationObject || options.writesStructureSet {
            // One after the other.
            buffers.append(
                PlannedBuffer("DICOM objects", bytes: Self.objectBytes(shape), from: .write, through: .write)
            )
        }
        return buffers
    }
}
