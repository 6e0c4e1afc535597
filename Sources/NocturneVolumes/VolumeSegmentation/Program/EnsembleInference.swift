import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneNumerics

/// Inference of the last levels of an ensemble: their probabilities are averaged, slice by slice.
///
/// Each member stops as soon as it has the planes that the next slice needs, so that all members advance together and none
/// of them keeps more than its own window of sums.
final class EnsembleInference: LabelInference {
    private let members: [TileBlending]
    /// The finished planes of each member.
    private var planes: [Range<Int>]
    private var labeler: SliceLabeler
    private var slices: LabelSlices

    /// - Parameters:
    ///   - levels: one for each member, with grids of the same axes and the same box.
    ///   - decision: the label value for each network output, of all members.
    init(
        _ levels: [PreparedLevel],
        decision: LabelDecision,
        checkpoint: LabelCheckpoint,
        probabilities: StagedProbabilities?,
        resources: InferenceResources,
        context: StageContext
    ) throws {
        let grid = levels[0].grid
        let slices = try LabelSlices(grid, checkpoint, probabilities, scope: context.scope)
        let labeler = try SliceLabeler(
            try levels.map { try EnsemblePlanes.Member(of: $0.grid) },
            native: grid.native,
            box: grid.box,
            decision: decision,
            resumingAtSlice: slices.resumed
        )
        // Before the sums of any member take the rest of a device's memory.
        for model in levels.map(\.model) {
            let set = try resources.sessions.set(of: model, width: context.scope.width, options: resources.options)
            _ = try set.onDevice(model, width: context.scope.width)
        }
        var members: [TileBlending] = []
        for (index, level) in levels.enumerated() {
            members.append(
                try TileBlending(
                    level,
                    decision: decision,
                    resources: resources,
                    resumingAtPlane: labeler.planes.nextPlane(of: index),
                    agreement: index < slices.tallies.agreement.count
                        ? slices.tallies.agreement[index] : AgreementTally(),
                    context: context
                )
            )
        }
        self.members = members
        planes = members.map { _ in 0..<0 }
        self.slices = slices
        self.labeler = labeler
    }

    var confidence: [UInt16: LabelConfidence] { slices.tallies.confidence.confidence(agreement: agreement) }
    private var agreement: [AgreementTally] { members.map(\.agreement) }
    var probabilities: StagedProbabilities? { slices.probabilities }
    var stepCount: Int { members.reduce(0) { $0 + $1.stepCount } }
    var stepsDone: Int { isFinished ? stepCount : members.reduce(0) { $0 + $1.stepsDone } }
    var isFinished: Bool { labeler.isFinished }

    func step(_ context: StageContext) throws {
        // The member that lacks a plane; after the loop below, there is one until all slices are labelled.
        guard let index = members.indices.first(where: { lacksPlane($0) }) else { return }
        let planes = try members[index].step(context.scope)
        guard !planes.isEmpty else { return }
        self.planes[index] = planes
        // A device does not run tiles meanwhile: the next row of a member may not be needed, and would count in its agreement.
        while try pushPlanes(context.scope) { try slices.labelSlice(by: &labeler, scope: context.scope) }
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

    func checkpoint(force: Bool, isIntermediate: Bool) throws {
        try slices.save(
            agreement,
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
