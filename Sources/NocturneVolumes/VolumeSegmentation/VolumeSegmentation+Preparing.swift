import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// The first two stages: decode a volume, and prepare the network input.
extension VolumeSegmentation {
    /// - Throws: `VolumeError` for voxels that are not finite; `NotAnInput` for a label map; errors of reading.
    func load(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedVolume {
        var read = try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
        // One NaN in a mean or a standard deviation would make the whole input of the network NaN.
        if let (path, count) = read.nonFinite {
            throw VolumeError(.notFinite, path: path, "\(LoadedVolume.text(notFinite: count))")
        }
        // A label map that was given as an image would get a result that looks valid.
        if source.format.isVolumeFile, item.edit == nil, try model(source.model).takesIntensities {
            try LabelMapValues.refuse(read.channels, flag: context.scope.flag)
        }
        if context.isLean { read.channels = try read.channels.map { try inFile($0, context) } }
        return read
    }

    /// A copy in a file in staging. Its pages are released, since later stages read it once each.
    private func inFile(_ volume: Volume, _ context: StageContext) throws -> Volume {
        try FileSystem.makeFolder(context.staging)
        let shape = volume.geometry.shape
        var file = try VoxelBuffer<Float>(count: shape.count, inFileIn: context.staging)
        for k in 0..<shape.z {
            try context.scope.check()
            let slice = k * shape.sliceCount..<(k + 1) * shape.sliceCount
            file.withUnsafeMutableBufferPointer { file in
                volume.voxels.withUnsafeBufferPointer { _ = file[slice].update(fromContentsOf: $0[slice]) }
            }
            // While copying too: otherwise the whole copy would be in memory next to the volume.
            if k % 32 == 31 { file.releasePages() }
        }
        file.releasePages()
        return Volume(geometry: volume.geometry, voxels: file.frozen())
    }

    /// Makes the input of the first network; none for labels that are there already.
    func prepare(
        _ loaded: consuming LoadedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> PreparedVolume {
        let (source, channels) = (loaded.source, loaded.channels)
        let earlier = try earlierLabels(item, source, context.scope.flag)
        // Labels that a person has edited, or that an earlier run has made, need no inference. They are still measured.
        let isKnown = item.edit != nil || earlier != nil
        return PreparedVolume(
            source: source,
            channels: channels,
            input: isKnown
                ? nil
                : try PreparedVolume.NetworkInput(
                    of: WorkingVolume(source: source, channels: channels.map(\.voxels)),
                    model: try model(source.model),
                    options: options,
                    scope: context.scope
                ),
            earlier: earlier,
            notes: loaded.notes
        )
    }

    private func earlierLabels(
        _ item: RecipeItem,
        _ source: VolumeSource,
        _ flag: CancellationFlag
    ) throws -> EarlierLabels? {
        guard item.edit == nil, let folder = item.earlierResult else { return nil }
        return EarlierLabels(
            in: folder,
            for: source,
            wanted: try model(source.model).wantedLabels(options),
            hasProbabilities: options.writesProbabilities,
            flag: flag
        )
    }
}

extension PreparedVolume.NetworkInput {
    /// The volume on the grid of the program, and the input of the first network.
    init(of stored: WorkingVolume, model: SegmentationModel, options: SegmentationOptions, scope: ComputeScope) throws {
        let settings = model.settings
        let place = try WorkingPlace(
            in: stored,
            grid: settings.region.map(\.grid) ?? settings.grid,
            scope: scope
        )
        let part = model.firstPart(options)
        let grids = try part.grids(on: place.volume, scope: scope)
        let preparation = LevelPreparation(
            level: part.members[0].levels[0].settings,
            source: place.volume.source,
            channels: place.volume.channels
        )
        self.init(
            stored: stored,
            place: place,
            first: grids,
            image: try preparation.image(grids[0][0], previous: nil, scope: scope)
        )
    }
}
