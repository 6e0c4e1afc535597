import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// Inference that makes one label map on a volume's grid, tile by tile. No intermediate has classes × volume size.
protocol LabelInference: AnyObject {
    /// Tiles in all.
    var stepCount: Int { get }
    /// With those that an earlier attempt has saved.
    var stepsDone: Int { get }
    /// Whether all labels are known.
    var isFinished: Bool { get }

    /// Runs one tile.
    func step(_ context: StageContext) throws

    /// - Parameter isIntermediate: whether complete labels are saved too, because more inference follows them.
    func checkpoint(force: Bool, isIntermediate: Bool) throws

    /// By label of the networks, on their own grid, before any cleaning. Complete when all tiles are done.
    var confidence: [UInt16: LabelConfidence] { get }

    /// Complete when all tiles are done; nil if none were asked for.
    var probabilities: StagedProbabilities? { get }

    /// The labels in stored order. Call once.
    func finish(stored: VolumeShape, _ context: StageContext) throws -> FrozenVoxels<UInt16>
}

/// Label slices that are being made in the axes of the networks, with those that an earlier attempt has saved.
struct LabelSlices: ~Copyable {
    /// On the volume's own grid, in the axes of the networks: z slowest.
    var labels: VoxelBuffer<UInt16>
    /// The confidence of the planes so far, and the agreement before an interruption.
    var tallies: LabelTallies
    private var checkpoint: LabelCheckpoint
    /// Of the same slices; nil if none were asked for.
    let probabilities: StagedProbabilities?
    private let grid: ModelGrid
    /// Slices that were saved before.
    let resumed: Int

    init(
        _ grid: ModelGrid,
        _ checkpoint: LabelCheckpoint,
        _ probabilities: StagedProbabilities?,
        scope: ComputeScope
    ) throws {
        var checkpoint = checkpoint
        var labels = try VoxelBuffer<UInt16>(count: grid.native.count)
        let restored = try checkpoint.restore(into: &labels, probabilities, scope: scope)
        (resumed, tallies) = restored
        self.probabilities = probabilities
        self.labels = labels
        self.checkpoint = checkpoint
        self.grid = grid
    }

    /// Adds the next slice, with its probabilities.
    mutating func labelSlice(by labeler: inout SliceLabeler, scope: ComputeScope) throws {
        try probabilities?.addSlice(of: labeler.planes, scope: scope)
        try labeler.labelSlice(into: &labels, tally: &tallies.confidence, scope: scope)
    }

    /// - Parameter agreement: of each member.
    mutating func save(
        _ agreement: [AgreementTally],
        finishedSlices: Int,
        force: Bool,
        isIntermediate: Bool
    ) throws {
        try checkpoint.save(
            labels,
            LabelTallies(confidence: tallies.confidence, agreement: agreement),
            probabilities,
            finishedSlices: finishedSlices,
            force: force,
            of: isIntermediate ? grid.native.z + 1 : grid.native.z
        )
    }

    /// The labels in stored order. Call once.
    mutating func take(stored: VolumeShape, scope: ComputeScope) throws -> FrozenVoxels<UInt16> {
        var taken = VoxelBuffer<UInt16>.empty
        swap(&taken, &labels)
        return try Reorienter.stored(taken, stored: stored, orientation: grid.orientation, scope: scope).frozen()
    }
}

/// Inference of one cascade level on one volume: takes tiles and emits label slices.
final class LevelInference: LabelInference {
    private let tiles: TileBlending
    private var labeler: SliceLabeler
    private let meter: LogitConfidence
    private var slices: LabelSlices
    /// Of planes whose probabilities are resampled; nil if logits are.
    private var planeProbabilities: PlaneProbabilities?

    /// - Parameters:
    ///   - decision: the label value for each network output.
    ///   - checkpoint: stores finished slices, and may already hold some.
    init(
        _ level: PreparedLevel,
        decision: LabelDecision,
        checkpoint: LabelCheckpoint,
        probabilities: StagedProbabilities?,
        resources: InferenceResources,
        context: StageContext
    ) throws {
        let grid = level.grid
        let slices = try LabelSlices(grid, checkpoint, probabilities, scope: context.scope)
        let labeler = try SliceLabeler(
            [try EnsemblePlanes.Member(of: grid)],
            native: grid.native,
            box: grid.box,
            decision: level.resamplesProbabilities ? decision.ofProbabilities : decision,
            rounding: resources.options.tiles.usesReferenceRounding ? .half : .single,
            resumingAtSlice: slices.resumed
        )
        tiles = try TileBlending(
            level,
            decision: decision,
            resources: resources,
            resumingAtPlane: labeler.planes.nextPlane(of: 0),
            agreement: slices.tallies.agreement.first ?? AgreementTally(),
            context: context
        )
        meter = LogitConfidence(decision, width: grid.shape.x, height: grid.shape.y)
        if level.resamplesProbabilities {
            planeProbabilities = try PlaneProbabilities(model: grid.shape, decision: decision)
        }
        self.slices = slices
        self.labeler = labeler
    }

    var confidence: [UInt16: LabelConfidence] { slices.tallies.confidence.confidence(agreement: [tiles.agreement]) }
    var probabilities: StagedProbabilities? { slices.probabilities }
    var stepCount: Int { tiles.stepCount }
    var stepsDone: Int { tiles.stepsDone }
    var isFinished: Bool { stepsDone == stepCount }

    func step(_ context: StageContext) throws {
        let planes = try tiles.step(context.scope)
        guard !planes.isEmpty else { return }
        try tiles.whileReading(context.scope) {
            for plane in planes {
                try tiles.withPlane(plane, scope: context.scope) { try add($0, plane: plane, context.scope) }
            }
        }
    }

    private func add(_ logits: UnsafeBufferPointer<Float>, plane: Int, _ scope: ComputeScope) throws {
        try meter.add(logits, plane: plane, to: &slices.tallies.confidence, scope: scope)
        // The confidence is that of the networks on their own grid, before anything is resampled.
        guard let planeProbabilities else { return try push(logits, scope) }
        try planeProbabilities.withProbabilities(of: logits, scope: scope) { try push($0, scope) }
    }

    private func push(_ plane: UnsafeBufferPointer<Float>, _ scope: ComputeScope) throws {
        // Planes after the last slice count in the confidence only.
        guard !labeler.isFinished else { return }
        try labeler.planes.push(plane, of: 0)
        while labeler.planes.isComplete { try slices.labelSlice(by: &labeler, scope: scope) }
    }

    func checkpoint(force: Bool, isIntermediate: Bool) throws {
        try slices.save(
            [tiles.agreement],
            finishedSlices: labeler.finishedSlices,
            force: force,
            isIntermediate: isIntermediate
        )
    }

    func finish(stored: VolumeShape, _ context: StageContext) throws -> FrozenVoxels<UInt16> {
        precondition(labeler.isFinished, "a volume is finished when all its slices are")
        return try slices.take(stored: stored, scope: context.scope)
    }
}
