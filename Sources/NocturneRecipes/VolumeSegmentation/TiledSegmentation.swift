import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
public import NocturnePipeline

/// A volume ready for the network.
public struct PreparedVolume: Sendable {
    let source: VolumeSource
    /// Kept for the measurement of intensities.
    let volume: Volume
    /// Normalised, at the model's resolution, x fastest.
    let image: FrozenVoxels<Float>
    let modelShape: VolumeShape
    let orientation: AxisOrientation
    /// The part of the canonical grid that the image covers.
    let box: VoxelBox
    let notes: [String]
}

/// The labels of a volume on its own grid, before cleaning.
public struct LabelledVolume: Sendable {
    let source: VolumeSource
    let volume: Volume
    let labels: LabelVolume
    let notes: [String]
}

/// The network's work on one volume: tiles in, label slices out, nothing of classes × volume in between.
public final class TiledSegmentation: InferenceRun, @unchecked Sendable {
    // Unchecked: the inference stage is the only user, one call at a time.
    private let model: SegmentationModel
    private let options: SegmentationOptions
    private let prepared: PreparedVolume
    private let plan: TilePlan
    private let passes: MirrorPasses
    private let canonical: VolumeShape
    private var accumulator: RollingAccumulator
    private var labeler: SlabLabeler
    private var labels: VoxelBuffer<UInt16>
    private var keeper: LabelCheckpoint

    init(
        model: SegmentationModel,
        options: SegmentationOptions,
        prepared: PreparedVolume,
        item: RecipeItem,
        context: StageContext
    ) throws {
        self.model = model
        self.options = options
        self.prepared = prepared
        plan = try TilePlan(
            imageShape: GridZYX(prepared.modelShape),
            patch: model.patch,
            step: options.tileStep ?? model.settings.tileStep
        )
        passes = MirrorPasses(axes: options.disablesMirroring ? [] : model.settings.mirroringAxes)
        canonical = prepared.orientation.shape(from: prepared.source.geometry.shape)
        labels = try VoxelBuffer(count: canonical.count)
        keeper = LabelCheckpoint(
            folder: context.staging,
            fingerprint: item.fingerprint,
            instructionSet: model.instructionSet,
            shape: canonical
        )
        let resumed = try keeper.restore(into: &labels, scope: context.scope)
        labeler = try SlabLabeler(
            model: prepared.modelShape,
            native: canonical,
            box: prepared.box,
            decision: .largestLogit(labels: TiledSegmentation.labelTable(model, options)),
            resumingAtSlice: resumed
        )
        let map = try model.withSessions(width: context.scope.width) { $0.map }
        accumulator = try RollingAccumulator(
            plan: plan,
            classes: model.classes,
            map: map,
            resumingAtPlane: labeler.nextPlane
        )
    }

    /// The value written for each class: its label's, or background where the label is not wanted.
    static func labelTable(_ model: SegmentationModel, _ options: SegmentationOptions) -> [UInt16] {
        var table = [UInt16](repeating: 0, count: model.classes)
        for label in model.package.labels where options.labels?.contains(label.name) ?? true {
            table[Int(label.value)] = label.value
        }
        return table
    }

    public var stepCount: Int { plan.tileCount }
    public var stepsDone: Int { accumulator.nextTile }

    public func step(_ context: StageContext) throws {
        let scope = context.scope
        let tile = accumulator.nextTile
        try model.withSessions(width: scope.width) { set in
            prepared.image.withUnsafeBufferPointer { image in
                set.input.withUnsafeMutableBufferPointer { input in
                    plan.cut(tile: tile, from: image, channels: model.package.channels.count, into: input)
                }
            }
            try infer(set, scope)
            try set.sum.withUnsafeBufferPointer { try accumulator.add($0, tile: tile, scope: scope) }
        }
        guard accumulator.nextTile % plan.tilesInRow == 0 else { return }
        let planes = try accumulator.finishRow(scope: scope)
        guard accumulator.nonFiniteCount == 0 else {
            throw SegmentationModelError(
                package: model.package.id,
                detail: "the network gave \(accumulator.nonFiniteCount) values that are not numbers for this volume"
            )
        }
        for plane in planes {
            try accumulator.withPlane(plane) { logits in
                _ = try labeler.push(logits, into: &labels, scope: scope)
            }
        }
    }

    /// The mean over networks and mirrored passes of one tile's logits, left in `set.sum`.
    private func infer(_ set: SessionSet, _ scope: ComputeScope) throws {
        let channels = model.package.channels.count
        let runs = set.sessions.count * passes.count
        if runs == 1 {
            try set.input.withUnsafeBufferPointer { input in
                try set.sum.withUnsafeMutableBufferPointer { sum in
                    try set.sessions[0].run(input: input, output: sum, scope: scope)
                }
            }
            return
        }
        set.sum.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
        for session in set.sessions {
            for axes in passes.flips {
                try set.input.withUnsafeBufferPointer { input in
                    try set.flipped.withUnsafeMutableBufferPointer { flipped in
                        MirrorPasses.flip(input, channels: channels, patch: model.patch, along: axes, into: flipped)
                        try set.logits.withUnsafeMutableBufferPointer { logits in
                            try session.run(input: UnsafeBufferPointer(flipped), output: logits, scope: scope)
                        }
                    }
                }
                set.logits.withUnsafeBufferPointer { logits in
                    set.sum.withUnsafeMutableBufferPointer { sum in
                        MirrorPasses.accumulate(
                            logits,
                            channels: model.classes,
                            patch: model.patch,
                            flippedAlong: axes,
                            into: sum
                        )
                    }
                }
            }
        }
        set.sum.withUnsafeMutableBufferPointer { sum in
            for index in sum.indices { sum[index] /= Float(runs) }
        }
    }

    public func checkpoint(force: Bool, _ context: StageContext) throws {
        try keeper.save(labels, finishedSlices: labeler.finishedSlices, force: force, of: canonical.z)
    }

    public func finish(_ context: StageContext) throws -> LabelledVolume {
        precondition(labeler.isFinished, "a volume is finished when all its slices are")
        let stored = prepared.source.geometry
        let canonicalLabels = takeLabels().frozen()
        let voxels =
            prepared.orientation.changesNothing
            ? canonicalLabels
            : try Reorienter.stored(
                canonicalLabels,
                stored: stored.shape,
                orientation: prepared.orientation,
                scope: context.scope
            ).frozen()
        return LabelledVolume(
            source: prepared.source,
            volume: prepared.volume,
            labels: LabelVolume(geometry: stored, voxels: voxels),
            notes: prepared.notes
        )
    }

    /// Moves the labels out; an empty buffer stays behind.
    private func takeLabels() -> VoxelBuffer<UInt16> {
        var taken = VoxelBuffer<UInt16>.empty
        swap(&taken, &labels)
        return taken
    }
}
