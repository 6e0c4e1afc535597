public import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneRecipeSupport
import NocturneSystem

/// A volume ready for the networks.
public struct PreparedVolume: Sendable {
    let source: VolumeSource
    /// One per channel, kept for measuring intensities and for a second level.
    let channels: [Volume]
    /// What the networks work on; nil for an item whose labels a person has edited, or that has earlier ones.
    let input: NetworkInput?
    let earlier: EarlierLabels?
    let notes: [String]

    struct NetworkInput: Sendable {
        /// One per level.
        let grids: [ModelGrid]
        /// The network input of the first level.
        let image: FrozenVoxels<Float>
    }
}

/// The labels of a volume on its own grid, before cleaning.
public struct LabelledVolume: Sendable {
    let source: VolumeSource
    /// The first channel.
    let volume: Volume
    let labels: LabelVolume
    /// Where the labels come from, if no network has run.
    let earlier: EarlierLabels?
    let notes: [String]
}

/// Inference on one volume: one level after the other, one tile at a time. Labels that a person has edited, and
/// those of an earlier result, are read instead, without a tile.
public final class TiledSegmentation: InferenceRun {
    private let model: SegmentationModel
    private let options: SegmentationOptions
    private let sessions: LevelSessions
    private let prepared: PreparedVolume
    private let item: RecipeItem
    private let grids: [ModelGrid]
    private let tiles: [Int]
    private var level = 0
    private var current: LevelInference?

    init(
        model: SegmentationModel,
        options: SegmentationOptions,
        sessions: LevelSessions,
        prepared: PreparedVolume,
        item: RecipeItem,
        context: StageContext
    ) throws {
        self.model = model
        self.options = options
        self.sessions = sessions
        self.prepared = prepared
        self.item = item
        grids = prepared.input?.grids ?? []
        tiles = try zip(grids, model.levels).map { try $0.tiles($1, options).tileCount }
        guard let image = prepared.input?.image else { return }
        try begin(image, context)
        try startNextLevel(context)
    }

    public var stepCount: Int { tiles.reduce(0, +) }
    public var stepsDone: Int { tiles[..<level].reduce(0, +) + (current?.stepsDone ?? 0) }
    private var isLast: Bool { level == tiles.count - 1 }

    public func step(_ context: StageContext) throws {
        do {
            try current?.step(context)
        } catch let fault as NonFiniteLogits {
            throw SegmentationModelError(package: model.package.id, detail: "\(fault)")
        }
        try startNextLevel(context)
    }

    public func checkpoint(force: Bool, _ context: StageContext) throws {
        try current?.checkpoint(force: force)
    }

    public func finish(_ context: StageContext) throws -> LabelledVolume {
        let geometry = prepared.source.geometry
        let labels: LabelVolume
        if let edit = item.edit {
            labels = try EditedLabelMap.read(edit.labels.edited, on: geometry, context.scope)
        } else if let earlier = prepared.earlier {
            labels = try earlier.read(on: geometry, context.scope)
        } else {
            labels = LabelVolume(geometry: geometry, voxels: try takeLabels(context))
        }
        return LabelledVolume(
            source: prepared.source,
            volume: prepared.channels[0],
            labels: labels,
            earlier: prepared.earlier,
            notes: prepared.notes
        )
    }

    /// Starts the next level when one is finished, unless it was the last.
    private func startNextLevel(_ context: StageContext) throws {
        while !isLast, current?.isFinished == true {
            // The labels of a complete level are worth a file: a resumed run starts from them.
            try current?.checkpoint(force: true, isIntermediate: true)
            let previous = try takeLabels(context)
            level += 1
            let preparation = LevelPreparation(
                level: model.levels[level].settings,
                source: prepared.source,
                channels: prepared.channels.map(\.voxels)
            )
            let image = try preparation.image(grids[level], previous: previous, scope: context.scope)
            try begin(image, context)
        }
    }

    private func begin(_ image: FrozenVoxels<Float>, _ context: StageContext) throws {
        current = try LevelInference(
            model: model.levels[level],
            options: options,
            sessions: sessions,
            grid: grids[level],
            image: image,
            decision: model.decision,
            labelCheckpoint: LabelCheckpoint(
                folder: context.staging,
                level: level,
                fingerprint: item.fingerprint,
                instructionSet: model.instructionSet,
                shape: grids[level].native,
                time: context.scope.time
            ),
            context: context
        )
    }

    private func takeLabels(_ context: StageContext) throws -> FrozenVoxels<UInt16> {
        guard let run = current else { preconditionFailure("the labels of a level can be taken once") }
        current = nil
        return try run.finish(stored: prepared.source.geometry.shape, context)
    }
}
