import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// The first two stages: decode a volume, and prepare the network input.
extension VolumeSegmentation {
    /// A decoded volume on its stored grid.
    public struct LoadedVolume: Sendable {
        let source: VolumeSource
        /// One per channel of the case.
        let channels: [Volume]
        let notes: [String]
    }

    func load(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedVolume {
        let read = try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
        if let (path, count) = read.nonFinite {
            throw VolumeError(code: .notFinite, path: path, detail: "\(count) voxels are NaN or infinite")
        }
        return LoadedVolume(source: source, channels: read.channels, notes: read.notes)
    }

    func prepare(
        _ loaded: consuming LoadedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedVolume {
        let (source, channels) = (loaded.source, loaded.channels)
        let earlier = try earlierLabels(item, source)
        guard item.edit == nil, earlier == nil else {
            return PreparedVolume(
                source: source,
                channels: channels,
                input: nil,
                earlier: earlier,
                notes: loaded.notes
            )
        }
        let preparations = try model(source.model).levels.map {
            LevelPreparation(level: $0.settings, source: source, channels: channels.map(\.voxels))
        }
        let grids = try preparations.map { try $0.grid(scope: context.scope) }
        return PreparedVolume(
            source: source,
            channels: channels,
            input: PreparedVolume.NetworkInput(
                grids: grids,
                image: try preparations[0].image(grids[0], previous: nil, scope: context.scope)
            ),
            earlier: nil,
            notes: loaded.notes
        )
    }

    private func earlierLabels(_ item: RecipeItem, _ source: VolumeSource) throws -> EarlierLabels? {
        guard item.edit == nil, let folder = item.earlierResult else { return nil }
        return EarlierLabels(in: folder, for: source, wanted: wantedLabels(of: try model(source.model)).map(\.name))
    }
}
