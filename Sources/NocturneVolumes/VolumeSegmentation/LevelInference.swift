import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

/// Inference of one cascade level on one volume: takes tiles and emits label slices. No intermediate has classes ×
/// volume size.
final class LevelInference {
    private let model: LevelModel
    private let options: SegmentationOptions
    private let sessions: SessionSet
    private let grid: ModelGrid
    private let image: FrozenVoxels<Float>
    private let plan: TilePlan
    private let passes: MirrorPasses
    /// One for all networks, or one per network with nnU-Net's rounding.
    private var accumulators: [AccumulatorBox]
    private var labeler: SlabLabeler
    private var labels: VoxelBuffer<UInt16>
    private var labelCheckpoint: LabelCheckpoint

    /// - Parameters:
    ///   - image: `[channel][z][y][x]` in the grid's shape.
    ///   - decision: the label value for each network output.
    ///   - labelCheckpoint: stores finished slices, and may already hold some.
    init(
        model: LevelModel,
        options: SegmentationOptions,
        sessions: LevelSessions,
        grid: ModelGrid,
        image: FrozenVoxels<Float>,
        decision: LabelDecision,
        labelCheckpoint: LabelCheckpoint,
        context: StageContext
    ) throws {
        self.model = model
        self.options = options
        self.grid = grid
        self.image = image
        plan = try grid.tiles(model, options)
        passes = model.passes(options)
        var labelCheckpoint = labelCheckpoint
        var labels = try VoxelBuffer<UInt16>(count: grid.native.count)
        let resumed = try labelCheckpoint.restore(into: &labels, scope: context.scope)
        let labeler = try SlabLabeler(
            model: grid.shape,
            native: grid.native,
            box: grid.box,
            decision: decision,
            rule: grid.logits,
            separateAxis: grid.logits.separateAxis(current: grid.spacing, new: grid.nativeSpacing),
            rounding: options.usesReferenceRounding ? .half : .single,
            resumingAtSlice: resumed
        )
        if context.isLean { try FileSystem.makeFolder(context.staging) }
        let set = try sessions.set(of: model, width: context.scope.width, options: options)
        self.sessions = set
        var accumulators: [AccumulatorBox] = []
        for _ in 0..<model.accumulatorCount(options) {
            let accumulator = try RollingAccumulator(
                plan: plan,
                classes: model.classes,
                map: set.map,
                resumingAtPlane: labeler.nextPlane,
                inFileIn: context.isLean ? context.staging : nil
            )
            accumulators.append(AccumulatorBox(accumulator))
        }
        self.labelCheckpoint = labelCheckpoint
        self.labels = labels
        self.labeler = labeler
        self.accumulators = accumulators
    }

    var stepCount: Int { plan.tileCount }
    var stepsDone: Int { accumulators[0].value.nextTile }
    var isFinished: Bool { stepsDone == stepCount }

    /// Runs one tile through all networks.
    func step(_ context: StageContext) throws {
        let scope = context.scope
        let tile = stepsDone
        let set = sessions
        image.withUnsafeBufferPointer { image in
            set.input.withUnsafeMutableBufferPointer { input in
                plan.cut(tile: tile, from: image, channels: model.settings.inputChannels, into: input)
            }
        }
        for (index, accumulator) in accumulators.enumerated() {
            let sessions = accumulators.count == 1 ? set.sessions[...] : set.sessions[index...index]
            try set.infer(sessions, passes, model, scope)
            try set.sum.withUnsafeBufferPointer { logits in
                guard Self.isFinite(logits) else {
                    throw NonFiniteLogits(tile: tile, of: plan.tileCount, start: plan.start(ofTile: tile))
                }
                try accumulator.value.add(logits, tile: tile, scope: scope)
            }
        }
        guard stepsDone % plan.tilesInRow == 0 else { return }
        var planes = 0..<0
        for accumulator in accumulators { planes = try accumulator.value.finishRow(scope: scope) }
        for plane in planes { try push(plane, scope) }
    }

    private func push(_ plane: Int, _ scope: ComputeScope) throws {
        if accumulators.count == 1 {
            try accumulators[0].value.withPlane(plane) { logits in
                _ = try labeler.push(logits, into: &labels, scope: scope)
            }
            return
        }
        let mean = try HalfMean.plane(plane, of: accumulators)
        try mean.withUnsafeBufferPointer { logits in
            _ = try labeler.push(logits, into: &labels, scope: scope)
        }
    }

    /// Whether there is no NaN and no infinity: times 0, those do not give 0.
    private static func isFinite(_ values: UnsafeBufferPointer<Float>) -> Bool {
        let bytes = UnsafeRawBufferPointer(values)
        var sum = SIMD16<Float>(repeating: 0)
        let whole = values.count / 16
        for index in 0..<whole {
            sum += bytes.loadUnaligned(fromByteOffset: index * 64, as: SIMD16<Float>.self) * 0
        }
        return sum.sum() == 0 && values[(whole * 16)...].allSatisfy(\.isFinite)
    }

    /// - Parameter isIntermediate: whether complete labels are saved too, because another level follows that starts
    ///   from them.
    func checkpoint(force: Bool, isIntermediate: Bool = false) throws {
        try labelCheckpoint.save(
            labels,
            finishedSlices: labeler.finishedSlices,
            force: force,
            of: isIntermediate ? grid.native.z + 1 : grid.native.z
        )
    }

    /// The labels on the volume's own grid, in stored order. Call once.
    func finish(stored: VolumeShape, _ context: StageContext) throws -> FrozenVoxels<UInt16> {
        precondition(labeler.isFinished, "a volume is finished when all its slices are")
        let orientation = grid.orientation
        var taken = VoxelBuffer<UInt16>.empty
        swap(&taken, &labels)
        let own = taken.frozen()
        guard !orientation.changesNothing else { return own }
        return try Reorienter.stored(own, stored: stored, orientation: orientation, scope: context.scope).frozen()
    }
}

/// A network returned NaN or infinite values.
struct NonFiniteLogits: Error, CustomStringConvertible {
    let tile: Int
    let of: Int
    let start: GridZYX
    var description: String {
        "the network returned NaN or infinite values in tile \(tile + 1) of \(of), which starts at "
            + "voxel \(start) of the padded network grid"
    }
}

/// Boxes an accumulator, since noncopyable values cannot be array elements.
final class AccumulatorBox {
    var value: RollingAccumulator
    init(_ value: consuming RollingAccumulator) { self.value = value }
}

/// The mean over networks as in nnU-Net: sum and quotient rounded to half precision.
enum HalfMean {
    static func plane(_ plane: Int, of accumulators: [AccumulatorBox]) throws -> [Float] {
        var sum: [Float] = accumulators[0].value.withPlane(plane) { Array($0) }
        for accumulator in accumulators.dropFirst() {
            accumulator.value.withPlane(plane) { next in
                for index in sum.indices { sum[index] = Float(Float16(sum[index] + next[index])) }
            }
        }
        let count = Float(accumulators.count)
        for index in sum.indices { sum[index] = Float(Float16(sum[index] / count)) }
        return sum
    }
}
