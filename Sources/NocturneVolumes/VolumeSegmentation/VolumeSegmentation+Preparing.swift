import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
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
        switch source.format {
        case .nifti:
            let channels = try source.files.map { try channel(at: $0, of: source, scope: context.scope) }
            return LoadedVolume(source: source, channels: channels, notes: source.notes ?? [])
        case .dicom:
            guard let names = source.sliceNames else {
                throw VolumeError(code: .damagedRecord, path: item.path, detail: "the journal does not name its slices")
            }
            let corrects = source.isCorrected ?? false
            let series = try DICOMScanner.series(of: names, corrects: corrects, scope: context.scope)
            if let problem = series.problem { throw problem }
            guard let geometry = series.geometry, geometry.matches(source.geometry) else {
                throw VolumeError(
                    code: .sourceChanged,
                    path: item.path,
                    detail: "the slice positions have changed since the series was found"
                )
            }
            var readerNotes: [String] = []
            let volume = try DICOMReader.readVolume(series, scope: context.scope) { readerNotes.append($0) }
            let found = source.notes ?? []
            return LoadedVolume(
                source: source,
                channels: [volume],
                notes: found + series.notes.filter { !found.contains($0) } + readerNotes
            )
        }
    }

    private func channel(at path: String, of source: VolumeSource, scope: ComputeScope) throws -> Volume {
        // Discovery has refused a file without orientation unless it is to be assumed.
        let read = try NIfTIReader.readVolume(at: path, assumesOrientation: true, scope: scope)
        guard read.volume.geometry.shape == source.geometry.shape,
            path != source.files[0] || read.volume.geometry == source.geometry
        else { throw VolumeError(code: .sourceChanged, path: path, detail: "the file changed since it was found") }
        guard read.nonFiniteCount == 0 else {
            throw VolumeError(code: .notFinite, path: path, detail: "\(read.nonFiniteCount) voxels are NaN or infinite")
        }
        return read.volume
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
