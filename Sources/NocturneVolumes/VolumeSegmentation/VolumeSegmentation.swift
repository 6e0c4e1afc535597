import Foundation
package import NocturneBatch
package import NocturneConcurrency
import NocturneInference
import NocturneRecipeSupport

/// Segments CT and MR volumes and writes label maps, surfaces and measurements.
///
/// The stages have their own files: loading and preparation, ``TiledSegmentation``, finishing.
package struct VolumeSegmentation: Recipe {
    let models: [SegmentationModel]
    let options: SegmentationOptions
    let regions: RegionMeasures?

    /// - Throws: `BatchError` for a regions file that cannot be used or has changed since the options were read.
    package init(models: [SegmentationModel], options: SegmentationOptions) throws {
        self.models = models
        self.options = options
        regions = try options.regions.file.map(RegionMeasures.init)
    }

    func model(_ id: String) throws -> SegmentationModel { try models.ofPackage(id, \.package) }

    // MARK: Discovery and planning

    /// Channels of one case are one family, as are the objects of a DICOM series.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        VolumeDiscovery(
            VolumeFinder(models, options, request, files, scope: scope),
            models.map { VolumeKind(id: $0.package.id, version: "nocturne 1", options: options, model: $0) }
        )
    }

    /// Patterns of the regions file that match no item.
    package func remarks(
        on items: (_ body: (_ name: String, _ source: VolumeSource) throws -> Bool) throws -> Void
    ) throws -> [String] {
        try regions?.unmatchedPatterns(items, \.paths) ?? []
    }

    /// What all models keep, and the buffers of the one that needs most: one runs at a time. Weights as they were read, where
    /// networks keep them, stay when a model is released.
    package func sharedMemory(threads: Int) throws -> SharedMemory {
        let needs = try models.map { try $0.memory(threads: threads, options: options) }
        func total(_ needs: [LevelMemory]) -> Int {
            let packed = PackedMemory(needs.map(\.packed), together: needs.map(\.packed.together).max() ?? 0)
            let active = (needs.map(\.workspace).max() ?? 0) + (needs.map(\.buffers).max() ?? 0) + packed.bytes
            return needs.reduce(active) { $0 + $1.kept }
        }
        var shared = SharedMemory(bytes: total(needs))
        for (index, model) in models.enumerated() {
            var others = needs
            let own = others.remove(at: index)
            shared.ofModels[model.package.id] = max(shared.bytes - total(others) - own.weights, 0)
        }
        return shared
    }

    /// Drops the plans of its networks.
    package func release(model id: String) {
        for model in models where model.package.id == id { model.loadedNetworks.forEach { $0.dropPlans() } }
    }

    /// By the model that the item was found for.
    /// - Throws: for a model of another run.
    package func plan(_ source: VolumeSource, threads: Int, lean: Bool) throws -> ItemPlan {
        try VolumeMemory(source: source, model: try model(source.model), options: options, regions: regions)
            .plan(threads: threads, lean: lean)
    }

    /// Runs and times one tile of every level.
    package func secondsPerStep(scope: ComputeScope) throws -> Double {
        let levels = models.flatMap(\.levels)
        let sessions = LevelSessions()
        let total = try levels.reduce(0.0) { $0 + (try $1.secondsPerTile(sessions, options, scope: scope)) }
        return levels.isEmpty ? 0 : total / Double(levels.count)
    }

    /// The number that the level with the fewest threads uses.
    package func threadsOfProcess(cores: Int) throws -> Int {
        try models.flatMap(\.levels).map { try $0.threadsOfProcess(cores: cores) }.min() ?? cores
    }

    /// The label map itself is not looked at.
    package func keepsInference(_ source: VolumeSource, of folder: String) throws -> Bool {
        let wanted = try model(source.model).wantedLabels(options)
        let hasProbabilities = options.writesProbabilities
        return EarlierLabels.result(in: folder, for: source, wanted: wanted, hasProbabilities: hasProbabilities) != nil
    }

    /// With another choice of labels not even where the result has more: a map that is edited once more has none of the others.
    package func keepsEdits(_ source: VolumeSource, of folder: String) throws -> Bool {
        let wanted = try model(source.model).wantedLabels(options)
        let result = EarlierLabels.result(in: folder, for: source, wanted: wanted, hasProbabilities: false)
        return result?.labels.count == wanted.count
    }

    // MARK: Stages

    /// All stages; inference runs tile by tile.
    package func stages(_ start: StageBuilder<VolumeSource>) -> RecipeStages<VolumeSource> {
        start.load(load).prepare(prepare).infer(LevelSessions.init, startInference).finish(finish).render(render)
            .write(write)
    }

    func startInference(
        _ sessions: LevelSessions,
        _ prepared: consuming PreparedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> TiledSegmentation {
        try TiledSegmentation(
            model: try model(prepared.source.model),
            sessions: sessions,
            options: options,
            prepared: prepared,
            item: item,
            context: context
        )
    }
}
