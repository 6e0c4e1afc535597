package import NocturneBatch
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// A volume ready for the networks.
package struct PreparedVolume: Sendable {
    let source: VolumeSource
    /// One per channel, kept for measuring intensities.
    let channels: [Volume]
    /// What the networks work on; nil for an item whose labels a person has edited, or that has earlier ones.
    let input: NetworkInput?
    let earlier: EarlierLabels?
    let notes: [Note]

    /// What the networks of a package run on.
    package struct NetworkInput: Sendable {
        /// As stored.
        let stored: WorkingVolume
        /// What the network of the region works on, or else the parts.
        let place: WorkingPlace
        /// Of the region, or else of the first part, by member and level.
        let first: [[ModelGrid]]
        /// The input of the first level of that part.
        let image: FrozenVoxels<Float>
    }
}

/// The labels of a volume on its own grid, before cleaning.
package struct LabelledVolume: Sendable {
    let source: VolumeSource
    /// The first channel.
    let volume: Volume
    let labels: LabelVolume
    /// Where the labels come from, if no network has run.
    let earlier: EarlierLabels?
    /// What cleaning has changed, if it was done already.
    let cleaning: [LabelCleaning]?
    /// By label; empty for labels that a person has drawn.
    let confidence: [UInt16: LabelConfidence]
    /// In staging; nil where no network has run.
    let probabilities: ProbabilityMaps?
    let engine: ResultEngine
    let notes: [Note]
}

/// Inference on one volume: one part of the program after the other, one tile at a time. Labels that a person has edited,
/// and those of an earlier result, are read instead, without a tile.
package final class TiledSegmentation: InferenceRun {
    private let model: SegmentationModel
    private let prepared: PreparedVolume
    private let item: RecipeItem
    private var program: ProgramRun?

    init(
        model: SegmentationModel,
        sessions: LevelSessions,
        options: SegmentationOptions,
        prepared: PreparedVolume,
        item: RecipeItem,
        context: StageContext
    ) throws {
        self.model = model
        self.prepared = prepared
        self.item = item
        guard let input = prepared.input else { return }
        let resources = InferenceResources(
            options: options,
            sessions: sessions,
            item: item,
            used: model.engineInUse,
            mappedLabels: options.writesProbabilities ? Set(model.wantedLabels(options).map(\.value)) : []
        )
        program = try ProgramRun(model, input, resources: resources, context: context)
    }

    /// Tiles of all parts; 0 where labels are read instead.
    package var stepCount: Int { program?.stepCount ?? 0 }
    /// Also those that a checkpoint of an interrupted run had.
    package var stepsDone: Int { program?.stepsDone ?? 0 }

    /// One tile. Where it was the last of a part, the next part is prepared, too.
    package func step(_ context: StageContext) throws { try program?.step(context) }

    /// Does nothing where labels are read.
    package func checkpoint(force: Bool, _ context: StageContext) throws { try program?.checkpoint(force: force) }

    /// The labels of a person, of an earlier result, or of the networks, in this order.
    /// - Throws: `DeviceFault` where the device failed meanwhile; what reading a label map throws.
    package func finish(_ context: StageContext) throws -> LabelledVolume {
        let geometry = prepared.source.geometry
        let labels: LabelVolume
        var notes = prepared.notes
        if let edit = item.edit {
            labels = try EditedLabelMap.read(edit.map, on: geometry, context.scope) {
                notes.append($0.after("the edited label map: "))
            }
        } else if let earlier = prepared.earlier {
            labels = try earlier.read(on: geometry, context.scope)
        } else if let program {
            labels = try program.finish(context)
            notes += program.notes + program.used.notes
        } else {
            preconditionFailure("labels come from a person, an earlier result, or networks")
        }
        return LabelledVolume(
            source: prepared.source,
            volume: prepared.channels[0],
            labels: labels,
            earlier: prepared.earlier,
            cleaning: prepared.earlier?.cleaning ?? program?.cleaning,
            confidence: item.edit == nil ? prepared.earlier?.confidence ?? program?.confidence ?? [:] : [:],
            probabilities: item.edit == nil && prepared.earlier == nil ? program?.maps : nil,
            engine: prepared.earlier?.engine ?? (program?.used ?? model.engineInUse).engine,
            notes: notes
        )
    }
}
