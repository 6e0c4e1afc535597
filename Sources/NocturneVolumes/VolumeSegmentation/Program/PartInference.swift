import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// Inference that makes one label map on a volume's grid, tile by tile: of one level of a network, or of the last levels of an
/// ensemble, whose probabilities are averaged. No intermediate has classes × volume size.
///
/// Each member of an ensemble stops as soon as it has the planes that the next slice needs, so that all members advance together
/// and none of them keeps more than its own window of sums.
final class PartInference {
    private let members: [TileBlending]
    /// The finished planes of each member of an ensemble.
    private var planes: [Range<Int>]
    private var labeler: SliceLabeler
    /// On the volume's own grid, in the axes of the networks: z slowest.
    private var labels: VoxelBuffer<UInt16>
    /// The confidence of the planes so far, and the agreement before an interruption.
    private var tallies: LabelTallies
    private var savedLabels: LabelCheckpoint
    /// Complete when all tiles are done; nil if none were asked for.
    let probabilities: StagedProbabilities?
    /// Of the planes of a single network.
    private let meter: LogitConfidence
    /// Of planes whose probabilities are resampled, which those of an ensemble never are; nil if logits are.
    private let planeProbabilities: PlaneProbabilities?

    /// - Parameters:
    ///   - levels: one for each member, with grids of the same axes and the same box.
    ///   - decision: the label value for each network output, of all members.
    ///   - checkpoint: stores finished slices, and may already hold some.
    init(
        _ levels: [PreparedLevel],
        decision: LabelDecision,
        checkpoint: LabelCheckpoint,
        probabilities: StagedProbabilities?,
        resources: InferenceResources,
        context: StageContext
    ) throws {
        let (first, grid, scope) = (levels[0], levels[0].grid, context.scope)
        var savedLabels = checkpoint
        var labels = try VoxelBuffer<UInt16>(count: grid.native.count)
        let (resumed, tallies) = try savedLabels.restore(into: &labels, probabilities, scope: scope)
        let labeler = try SliceLabeler(
            try levels.map { try EnsemblePlanes.Member(of: $0.grid) },
            native: grid.native,
            box: grid.box,
            decision: first.resamplesProbabilities ? decision.ofProbabilities : decision,
            rounding: resources.options.tiles.usesReferenceRounding ? .half : .single,
            resumingAtSlice: resumed
        )
        // Before the sums of any member take the rest of a device's memory.
        for model in levels.map(\.model) where levels.count > 1 {
            let set = try resources.sessions.set(of: model, width: scope.width, options: resources.options)
            _ = try set.onDevice(model, width: scope.width)
        }
        var members: [TileBlending] = []
        for (index, level) in levels.enumerated() {
            members.append(
                try TileBlending(
                    level,
                    decision: decision,
                    resources: resources,
                    resumingAtPlane: labeler.planes.nextPlane(of: index),
                    agreement: index < tallies.agreement.count ? tallies.agreement[index] : AgreementTally(),
                    context: context
                )
            )
        }
        meter = LogitConfidence(decision, width: grid.shape.x, height: grid.shape.y)
        planeProbabilities =
            try first.resamplesProbabilities ? PlaneProbabilities(model: grid.shape, decision: decision) : nil
        planes = members.map { _ in 0..<0 }
        self.members = members
        self.probabilities = probabilities
        self.savedLabels = savedLabels
        self.tallies = tallies
        self.labels = labels
        self.labeler = labeler
    }

    private var agreement: [AgreementTally] { members.map(\.agreement) }
    /// By label of the networks, before any cleaning. Complete when all tiles are done.
    var confidence: [UInt16: LabelConfidence] { tallies.confidence.confidence(agreement: agreement) }
    private var tilesDone: Int { members.reduce(0) { $0 + $1.stepsDone } }
    /// Tiles in all.
    var stepCount: Int { members.reduce(0) { $0 + $1.stepCount } }
    /// With those that an earlier attempt has saved.
    var stepsDone: Int { isFinished ? stepCount : tilesDone }
    /// Whether all labels are known; of a single network, its confidence in them too.
    var isFinished: Bool { members.count == 1 ? tilesDone == stepCount : labeler.isFinished }

    /// Runs one tile.
    func step(_ context: StageContext) throws {
        let scope = context.scope
        guard members.count > 1 else { return try stepAlone(scope) }
        // The member that lacks a plane; after the loop below, there is one until all slices are labelled.
        guard let index = members.indices.first(where: { lacksPlane($0) }) else { return }
        let planes = try members[index].step(scope)
        guard !planes.isEmpty else { return }
        self.planes[index] = planes
        // A device does not run tiles meanwhile: the next row of a member may not be needed, and would count in its agreement.
        while try pushPlanes(scope) { try labelSlice(scope) }
    }

    private func lacksPlane(_ index: Int) -> Bool {
        guard let plane = labeler.planes.neededPlane(of: index) else { return false }
        return !planes[index].contains(plane)
    }

    /// Hands over the planes for the next slice, as far as they are finished.
    /// - Returns: whether every member has all of them.
    private func pushPlanes(_ scope: ComputeScope) throws -> Bool {
        for (index, member) in members.enumerated() {
            while let plane = labeler.planes.neededPlane(of: index), planes[index].contains(plane) {
                try member.withPlane(plane, scope: scope) { try labeler.planes.push($0, of: index) }
            }
        }
        return labeler.planes.isComplete
    }

    /// Runs one tile of a single network.
    private func stepAlone(_ scope: ComputeScope) throws {
        let planes = try members[0].step(scope)
        guard !planes.isEmpty else { return }
        try members[0].whileReading(scope) {
            for plane in planes {
                try members[0].withPlane(plane, scope: scope) { logits in
                    // The confidence is that of the network on its own grid, before anything is resampled.
                    try meter.add(logits, plane: plane, to: &tallies.confidence, scope: scope)
                    guard let planeProbabilities else { return try label(logits, scope) }
                    try planeProbabilities.withProbabilities(of: logits, scope: scope) { try label($0, scope) }
                }
            }
        }
    }

    /// Labels the slices that a plane of a single network completes; there are none after the last slice.
    private func label(_ plane: UnsafeBufferPointer<Float>, _ scope: ComputeScope) throws {
        guard !labeler.isFinished else { return }
        try labeler.planes.push(plane, of: 0)
        while labeler.planes.isComplete { try labelSlice(scope) }
    }

    private func labelSlice(_ scope: ComputeScope) throws {
        try probabilities?.addSlice(of: labeler.planes, scope: scope)
        try labeler.labelSlice(into: &labels, tally: &tallies.confidence, scope: scope)
    }

    /// - Parameter isIntermediate: whether complete labels are saved too, because more inference follows them.
    func checkpoint(force: Bool, isIntermediate: Bool) throws {
        let depth = labeler.native.z
        try savedLabels.save(
            labels,
            LabelTallies(confidence: tallies.confidence, agreement: agreement),
            probabilities,
            finishedSlices: labeler.finishedSlices,
            force: force,
            of: isIntermediate ? depth + 1 : depth
        )
    }

    /// The labels in stored order. Call once.
    func finish(stored: VolumeShape, _ context: StageContext) throws -> FrozenVoxels<UInt16> {
        precondition(labeler.isFinished, "a volume is finished when all its slices are")
        var taken = VoxelBuffer<UInt16>.empty
        swap(&taken, &labels)
        let orientation = members[0].grid.orientation
        return try Reorienter.stored(taken, stored: stored, orientation: orientation, scope: context.scope).frozen()
    }
}

extension EnsemblePlanes.Member {
    /// The logits of networks on their grid, for its box of the native one.
    init(of grid: ModelGrid) throws(NumericsError) {
        try self.init(
            model: grid.shape,
            box: grid.box.shape,
            rule: grid.logits,
            separateAxis: grid.logits.separateAxis(current: grid.spacing, new: grid.nativeSpacing)
        )
    }
}
