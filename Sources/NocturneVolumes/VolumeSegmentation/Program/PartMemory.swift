import NocturneBatch
import NocturneCore
import NocturneInference
import NocturneNumerics

/// Predicts the large buffers of one part of a program.
struct PartMemory {
    let part: PartModel
    /// On the grid of the program.
    let source: VolumeSource
    let options: SegmentationOptions
    /// Whether the sums of tiles are kept in a file.
    let lean: Bool
    /// The labels whose probabilities are written.
    let mappedLabels: Set<UInt16>

    private var voxels: Int { source.geometry.shape.count }

    /// The buffers of all levels, and the number of tiles.
    func plan() throws -> (buffers: [PlannedBuffer], steps: Int) {
        var (buffers, steps): ([PlannedBuffer], Int) = ([], 0)
        for member in part.members {
            for (index, level) in member.levels.enumerated() {
                let grid = try ModelGrid(source: source, level: level.settings, foreground: { _ in nil })
                let tiles = try grid.tiles(level, options)
                steps += tiles.tileCount
                buffers += try preparing(level, grid, isFirst: index == 0)
                buffers += inferring(level, grid, tiles)
                // Probabilities are written of the last level only.
                if index == member.levels.count - 1 { buffers += probabilities(level, grid) }
            }
        }
        return (buffers, steps)
    }

    /// The first level's image is made by the preprocessor, a second one's during inference.
    private func preparing(_ level: LevelModel, _ grid: ModelGrid, isFirst: Bool) throws -> [PlannedBuffer] {
        let during: Stage = isFirst ? .prepare : .infer
        let view = try VoxelView(stored: source.geometry.shape, orientation: grid.orientation).cropped(to: grid.box)
        // Made for its forecast alone; nothing is resampled here.
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
                // 4 bytes for a value in single precision, here and below.
                bytes: grid.window.shape.count * 4 * level.settings.inputChannels,
                from: during,
                through: .infer
            ),
        ]
        if level.settings.crop?.isOfNormalizedImage ?? false {
            let bytes = grid.window.shape.count * 4
            buffers.append(PlannedBuffer("cropped network input", bytes: bytes, from: during, through: during))
        }
        if level.settings.normalizesAfterResampling {
            let bytes = grid.shape.count * 4
            buffers.append(PlannedBuffer("resampled channel", bytes: bytes, from: during, through: during))
        }
        if let most = level.settings.normalizations.map(\.count).max(), most > 1 {
            // What a step makes, and what it makes it from where that is the step before.
            let voxels = level.settings.normalizesAfterResampling ? grid.shape.count : grid.box.shape.count
            let bytes = voxels * 4 * min(most - 1, 2)
            buffers.append(PlannedBuffer("normalized channel", bytes: bytes, from: during, through: during))
        }
        if level.settings.normalizations.joined().contains(.zScoreOfNonzero) {
            let bytes = level.settings.normalizesAfterResampling ? grid.shape.count : grid.box.shape.count
            buffers.append(PlannedBuffer("mask", bytes: bytes, from: during, through: during))
        }
        if level.settings.needsMask || !isFirst {
            // The mask, and one normalized channel if values outside the mask stay unchanged.
            buffers.append(PlannedBuffer("mask", bytes: grid.box.shape.count * 5, from: during, through: during))
        }
        // Labels have 2 bytes a voxel, and are on the grid of the program.
        if !isFirst {
            buffers.append(
                PlannedBuffer("labels of the previous level", bytes: voxels * 2, in: .infer)
            )
        }
        return buffers
    }

    /// Of the last level: a slice.
    private func probabilities(_ level: LevelModel, _ grid: ModelGrid) -> [PlannedBuffer] {
        let classes = part.mappedClasses(mappedLabels).count
        guard classes > 0 else { return [] }
        let bytes = StagedProbabilities.sliceBytes(classes: classes, box: grid.box.shape)
        return [PlannedBuffer("probabilities of a slice", bytes: bytes, in: .infer)]
    }

    private func inferring(_ level: LevelModel, _ grid: ModelGrid, _ tiles: TilePlan) -> [PlannedBuffer] {
        // With the sums in a file, only a part of them is in memory at a time.
        let sums =
            lean
            ? RollingAccumulator.predictedBytesInFile(plan: tiles, classes: level.classes)
            : RollingAccumulator.predictedBytes(plan: tiles, classes: level.classes)
        var buffers = [
            PlannedBuffer("tile sums", bytes: sums * level.accumulatorCount(options), in: .infer),
            PlannedBuffer(
                "logit planes",
                bytes: SliceLabeler.predictedBytes(
                    model: grid.shape,
                    box: grid.box.shape,
                    rule: grid.logits,
                    classes: level.classes,
                    members: part.members.count
                ),
                in: .infer
            ),
        ]
        if part.members.count == 1 {
            let bytes = LogitConfidence.predictedBytes(width: grid.shape.x, height: grid.shape.y)
            buffers.append(PlannedBuffer("confidence of a plane", bytes: bytes, in: .infer))
        }
        if lean {
            let bytes = RollingAccumulator.predictedBytes(plan: tiles, classes: level.classes)
            buffers.append(
                PlannedBuffer(
                    "tile sums in a file",
                    bytes: bytes * level.accumulatorCount(options),
                    in: .infer,
                    isInFile: true
                )
            )
        }
        if level.settings.resamplesProbabilities, !grid.isNative {
            let bytes = PlaneProbabilities.predictedBytes(model: grid.shape, classes: level.classes)
            buffers.append(PlannedBuffer("probabilities of a plane", bytes: bytes, in: .infer))
        }
        if level.settings.crop?.isOfNormalizedImage ?? false {
            let bytes = PlacedPlanes.predictedBytes(grid.shape, classes: level.classes)
            buffers.append(PlannedBuffer("plane of the grid", bytes: bytes, in: .infer))
        }
        if let sigmas = level.settings.logitBlur {
            let bytes = LogitBlur.predictedBytes(sigmas: sigmas, shape: grid.window.shape, classes: level.classes)
            buffers.append(PlannedBuffer("planes of blurred logits", bytes: bytes, in: .infer))
        }
        if level.accumulatorCount(options) > 1 {
            let plane = grid.window.shape.sliceCount * level.classes * 4
            buffers.append(PlannedBuffer("mean of networks", bytes: plane, in: .infer))
        }
        if Reorienter.copies(grid.orientation) {
            buffers.append(PlannedBuffer("labels in stored order", bytes: voxels * 2, in: .infer))
        }
        return buffers
    }
}
