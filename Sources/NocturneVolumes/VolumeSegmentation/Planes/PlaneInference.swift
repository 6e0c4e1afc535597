package import NocturneBatch
package import NocturneConcurrency
package import NocturneCore
package import NocturneNumerics
package import NocturneRecipeSupport

/// A plane ready for the networks.
package struct PreparedPlane: Sendable {
    let input: PreparedVolume.NetworkInput
}

extension PlaneModel {
    /// Normalises a plane, and crops it if the package requires it.
    /// - Parameter channels: `[channel][y][x]`, one for every channel of the package, each of width × height values.
    /// - Throws: `NumericsError`, `AllocationError`, `CancelledError`.
    package func prepare(
        _ channels: [FrozenVoxels<Float>],
        width: Int,
        height: Int,
        scope: ComputeScope
    ) throws -> PreparedPlane {
        precondition(channels.count == model.channelCount, "one plane for each channel of the package")
        let stored = WorkingVolume(source: source(width: width, height: height), channels: channels)
        return PreparedPlane(
            input: try PreparedVolume.NetworkInput(of: stored, model: model, options: options, scope: scope)
        )
    }
}

/// Inference on one plane, tile by tile. A plane has labels only when its last tile is done, so that an interrupted plane begins
/// again.
package final class PlaneInference {
    private let model: SegmentationModel
    private let program: ProgramRun
    private let geometry: VolumeGeometry
    private let item: String
    /// What runs the networks.
    package let used: EngineInUse

    /// - Parameter item: whose fingerprint a checkpoint would have.
    package init(
        _ model: PlaneModel,
        _ prepared: PreparedPlane,
        _ item: RecipeItem,
        sessions: PlaneSessions,
        context: StageContext
    ) throws {
        used = model.model.engineInUse
        self.item = item.name
        let resources = InferenceResources(
            options: model.options,
            sessions: sessions.levels,
            item: item,
            instructionSet: used.engine.instructionSet,
            mappedLabels: []
        )
        self.model = model.model
        geometry = prepared.input.stored.source.geometry
        let program = try ProgramRun(model.model, prepared.input, resources: resources)
        self.program = program
        try self.model.reporting { try program.begin(context) }
    }

    /// The number of tiles.
    package var stepCount: Int { program.stepCount }
    /// The tiles so far.
    package var stepsDone: Int { program.stepsDone }

    /// Runs one tile.
    /// - Throws: ``UnusablePackageError`` for outputs that are not finite, `CancelledError`.
    package func step(_ context: StageContext) throws { try model.reporting { try program.step(context) } }

    /// Saves finished slices, of which a plane has none before its last tile.
    package func checkpoint(force: Bool) throws { try program.checkpoint(force: force) }

    /// The labels before cleaning, and the confidence in them by label. Call once, when all tiles are done.
    package func finish(_ context: StageContext) throws -> (labels: LabelVolume, confidence: [UInt16: LabelConfidence])
    {
        let labels = LabelVolume(geometry: geometry, voxels: try program.finish(context))
        try used.end(item)
        return (labels, program.confidence)
    }
}
