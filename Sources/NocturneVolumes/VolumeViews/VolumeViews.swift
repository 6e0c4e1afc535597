import Foundation
package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturnePostprocess
package import NocturneRecipeSupport
package import NocturneSystem

/// Makes pictures of volumes, and measures their intensities and regions of interest.
///
/// Runs no network and has no model: nothing in the volume is recognised.
package struct VolumeViews: Recipe {
    package let options: VolumeViewOptions
    let regions: RegionMeasures?

    /// - Throws: `BatchError` for a regions file that cannot be used or has changed since the options were read.
    package init(options: VolumeViewOptions) throws {
        self.options = options
        regions = try options.regions.file.map(RegionMeasures.init)
    }

    // MARK: Discovery and planning

    /// Every volume is an item, also a single slice.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        var reading = SegmentationOptions()
        (reading.inputs, reading.regions) = (options.inputs, options.regions)
        return VolumeDiscovery(
            VolumeFinder([], reading, request, files, scope: scope),
            [VolumeKind(id: Self.task, version: "nocturne views 1", options: options, takesSlices: true)]
        )
    }

    /// Patterns of the regions file that match no item.
    package func remarks(
        on items: (_ body: (_ name: String, _ source: VolumeSource) throws -> Bool) throws -> Void
    ) throws -> [String] {
        try regions?.unmatchedPatterns(items, \.paths) ?? []
    }

    /// - Parameter lean: ignored; there is only one way.
    package func plan(_ source: VolumeSource, threads: Int, lean: Bool) throws -> ItemPlan {
        let shape = source.geometry.shape
        let measuring = max(
            VolumeIntensities.predictedBytes(threads: threads),
            regions?.predictedBytes(in: source.geometry, threads: threads) ?? 0
        )
        return ItemPlan(
            buffers: [
                PlannedBuffer("source voxels", bytes: shape.count * 4, from: .load, through: .finish),
                PlannedBuffer("slices before resampling", bytes: (source.storedVoxels ?? 0) * 4, in: .load),
                PlannedBuffer("decoder", bytes: source.decoderBytes * threads, in: .load),
                PlannedBuffer("measuring", bytes: measuring, in: .finish),
            ] + options.pictures.buffers(shape, hasRegions: regions != nil, threads: threads),
            steps: 1,
            isLean: lean,
            diskBytes: (1 << 20) + options.pictures.diskBytes(shape)
        )
    }

    /// Nothing is prepared, inferred or extracted.
    package func stages(_ start: StageBuilder<VolumeSource>) -> RecipeStages<VolumeSource> {
        start.load(load).finish(finish).write(write)
    }

    // MARK: Stages

    func load(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedVolume {
        try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
            .noting(notFinite: "they are not measured")
    }

    /// What was measured and drawn while the volume was in memory.
    package struct ViewedVolume: Sendable {
        let source: VolumeSource
        /// Of the intensities.
        let unit: MeasuredUnit
        /// In the unit; nil without a finite voxel.
        let intensities: VolumeIntensities?
        /// In the unit.
        let regions: [RegionMeasurement]
        let pictures: StagedPictures
        let notes: [Note]
    }

    func finish(_ loaded: consuming LoadedVolume, _ item: RecipeItem, _ context: StageContext) throws -> ViewedVolume {
        let (source, volume, notes) = (loaded.source, loaded.channels[0], loaded.notes)
        let unit = try MeasuredUnit(of: source, scope: context.scope)
        let intensities = try VolumeIntensities.measure(
            volume,
            percents: VolumeViewResult.percents,
            scope: context.scope
        )
        let regions = unit.applied(
            to: try regions?.measure(on: volume, of: item.name, source.paths, scope: context.scope)
                ?? MeasuredRegions()
        )
        var content = PictureContent(image: (source, volume))
        (content.regions, content.unit) = (regions, unit)
        let pictures = try options.pictures.draw(content, into: context)
        return ViewedVolume(
            source: source,
            unit: unit,
            intensities: intensities.map { unit.applied(to: $0) },
            regions: regions.measurements,
            pictures: pictures,
            notes: notes + unit.notes + regions.notes + pictures.notes
        )
    }

    func write(
        _ viewed: consuming ViewedVolume,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        var files = try viewed.pictures.move(into: folder)
        files += try viewed.pictures.writeReview(into: folder, item: item.name, labels: [])
        let notes = viewed.source.shown(viewed.notes)
        let result = VolumeViewResult(
            schemaVersion: 1,
            disclaimer: Disclaimer.text,
            task: Self.task,
            item: item.name,
            fingerprint: item.fingerprint,
            source: SegmentationResult.Source(viewed.source, unit: viewed.unit),
            options: options.inResults(of: viewed.source),
            finiteVoxels: viewed.intensities?.finiteCount ?? 0,
            intensity: viewed.intensities?.summary.rounded,
            percentiles: viewed.intensities?.percentiles ?? [],
            window: .init(viewed.pictures.range, scale: viewed.unit.scale),
            regions: viewed.regions.map(SegmentationResult.Region.init),
            files: try files.map { try ItemFile($0, in: folder) },
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }
}

/// Volumes without a model as items: the entry in the registry.
extension VolumeViews: RecipeKind {
    /// Also stands for the id of a model in events, reports and `--only`.
    package static let task = "view"
    package static let purpose = "make pictures of volumes"
    package static let enablingOption: String? = VolumeViewOptions.enabling
    /// `Schemas/view-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.view_result_schema_json)
    package static var result: any InspectableResult.Type { VolumeViewResult.self }

    /// - Parameter models: none, since no network runs.
    /// - Throws: `BatchError` for a regions file that cannot be used or has changed.
    package static func make(_ models: [ChosenModel], options: VolumeViewOptions) throws -> any Recipe {
        try VolumeViews(options: options)
    }

    /// The pictures, and the intensities in one line.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(VolumeViewResult.self, from: Data(result))
        var parts = ReviewParts(
            volumeWith: result.files,
            options: result.options,
            titles: PictureFiles.titles(preview: "Three slices and projections of the volume", labels: false)
        )
        parts.facts = result.facts
        return parts
    }
}
