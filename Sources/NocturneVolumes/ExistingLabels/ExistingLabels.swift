import Foundation
package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturnePostprocess
package import NocturneRecipeSupport
package import NocturneSystem

/// Measures existing labels: reads DICOM segmentations, structure sets and label maps, and writes label maps, surfaces and
/// measurements.
///
/// Runs no network. Reading and rasterizing are here, measuring in ``ExistingLabels/finish(_:_:_:)``.
package struct ExistingLabels: Recipe {
    let options: ExistingLabelsOptions
    let regions: RegionMeasures?

    /// - Throws: `BatchError` for a regions file that cannot be used or has changed since the options were read.
    package init(options: ExistingLabelsOptions = ExistingLabelsOptions()) throws {
        self.options = options
        regions = try options.regions.file.map(RegionMeasures.init)
    }

    // MARK: Discovery and planning

    /// All files as one family: labels refer to images anywhere among the inputs.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        ExistingDiscovery(options, request, files, scope: scope)
    }

    /// Patterns of the regions file that match no item.
    package func remarks(
        on items: (_ body: (_ name: String, _ source: ExistingSource) throws -> Bool) throws -> Void
    ) throws -> [String] {
        try regions?.unmatchedPatterns(items, \.paths) ?? []
    }

    /// - Parameter lean: ignored; there is only one plan.
    package func plan(_ source: ExistingSource, threads: Int, lean: Bool) throws -> ItemPlan {
        ExistingMemory(source: source, options: options, regions: regions).plan(threads: threads, lean: lean)
    }

    /// No inference: the labels already exist.
    package func stages(_ start: StageBuilder<ExistingSource>) -> RecipeStages<ExistingSource> {
        start.load(load).prepare(prepare).finish(finish).render(render).write(write)
    }

    // MARK: Loading and preparation

    /// Labels on a grid, and the image they belong to.
    package struct LabelMaps: Sendable {
        let source: ExistingSource
        /// In the order of the object.
        var labels: [ExistingLabel] = []
        /// One, or several where labels overlap; those of a structure set are made of its regions when it is prepared.
        var volumes: [LabelVolume] = []
        /// On the same grid; nil if intensities cannot be measured.
        var image: Volume?
        /// For a structure set, in the order of ``labels``.
        var regions: [DICOMStructureSet.Region] = []
        var notes: [Note]
    }

    func load(_ source: ExistingSource, _ item: RecipeItem, _ context: StageContext) throws -> LabelMaps {
        var maps = LabelMaps(source: source, notes: source.notes)
        switch source.kind {
        case .segmentation:
            let read = try DICOMSegmentation.read(
                path: source.path,
                on: source.image == nil ? nil : source.geometry,
                limits: source.limits,
                flag: context.scope.flag
            )
            guard read.geometry.matches(source.geometry) else {
                throw DICOMReadError(.gridDiffers, path: source.path, detail: "changed since it was found")
            }
            (maps.labels, maps.volumes) = (ExistingLabel.labels(of: read), read.masks)
            maps.notes += read.notes
        case .structureSet:
            var read = try DICOMStructureSet.read(
                path: source.path,
                limits: source.limits,
                flag: context.scope.flag
            )
            // The note has been added when the source was found.
            _ = read.keepRegions(inFrameOfReference: source.frameOfReferenceUID ?? "")
            (maps.labels, maps.regions) = (ExistingLabel.labels(of: read), read.regions)
        case .labelMap:
            let read = try NamedLabelMap(source, scope: context.scope)
            (maps.labels, maps.volumes) = (ExistingLabel.labels(of: read), [read.labels])
            maps.notes += read.notes
        }
        let (image, faults) = try self.image(of: source, context.scope)
        maps.image = image
        maps.notes += faults
        return maps
    }

    /// The source images, or a note why they cannot be read. The labels do not depend on them.
    private func image(of source: ExistingSource, _ scope: ComputeScope) throws -> (Volume?, [Note]) {
        if let image = source.image, image.format.isVolumeFile { return try niftiImage(image, scope) }
        guard let names = source.image?.sliceNames else { return (nil, []) }
        do {
            let series = try DICOMScanner.series(of: names, scope: scope)
            if let problem = series.problem { throw problem }
            guard let geometry = series.geometry, geometry.matches(source.geometry) else {
                throw DICOMReadError(
                    .gridDiffers,
                    path: names[0].path,
                    detail: "the slice positions have changed since the series was found"
                )
            }
            var readerNotes: [Note] = []
            let volume = try DICOMReader.readVolume(series, scope: scope) { readerNotes.append($0) }
            return (volume, readerNotes)
        } catch let error as DICOMReadError {
            let ofPixels: Set<DICOMReadError.Code> = [
                .decoderFailed, .wrongPixelLength, .missingPixelData, .unsupportedPixels, .badDimensions,
            ]
            guard ofPixels.contains(error.code) else { throw error }
            return (nil, [.noIntensities("the source images cannot be read: \(error.detail)")])
        }
    }

    func prepare(_ loaded: consuming LabelMaps, _ item: RecipeItem, _ context: StageContext) throws -> LabelMaps {
        // Chosen first: what is left out is neither filled nor noted.
        var maps = try chosen(loaded, context.scope)
        if maps.source.kind == .structureSet { try fill(&maps, context.scope) }
        if maps.volumes.count > 1 {
            let text: Sentence = "labels overlap: they are stored in \(maps.volumes.count) label volumes"
            maps.notes.append(Note("labels.overlap", text))
        }
        return maps
    }

    private func fill(_ maps: inout LabelMaps, _ scope: ComputeScope) throws {
        let source = maps.source
        let (grid, most) = (source.geometry, source.volumes)
        guard let made = try RegionVolumes(maps.regions, labels: &maps.labels, on: grid, atMost: most, scope: scope)
        else {
            throw VolumeError(
                .tooManyOverlaps,
                path: source.path,
                "regions overlap so much that they need more than \(source.volumes) label volumes"
            )
        }
        maps.volumes = made.volumes
        maps.notes += maps.regions.flatMap(\.notes) + made.notes
    }

    /// Only the labels of `--labels`. The memory of the other voxels is changed: nobody may read them afterwards.
    private func chosen(_ maps: LabelMaps, _ scope: ComputeScope) throws -> LabelMaps {
        guard let wanted = options.choice.names?.names else { return maps }
        let kept = maps.labels.indices.filter { wanted.contains(where: maps.labels[$0].isCalled) }
        var labels = kept.map { maps.labels[$0] }
        var volumes: [LabelVolume] = []
        for (place, volume) in maps.volumes.enumerated() {
            let own = kept.indices.filter { maps.labels[kept[$0]].volume == place }
            // An item without any of the labels has an empty map.
            guard !own.isEmpty || kept.isEmpty && place == 0 else { continue }
            for index in own { labels[index].volume = volumes.count }
            let values = Set(own.map { labels[$0].value })
            var buffer = volume.voxels.thawed()
            try buffer.keep(values, shape: volume.geometry.shape, scope: scope)
            volumes.append(LabelVolume(geometry: volume.geometry, voxels: buffer.frozen()))
        }
        let missing = wanted.filter { name in !labels.contains { $0.isCalled(name) } }
        var chosen = maps
        (chosen.labels, chosen.volumes) = (labels, volumes)
        if !maps.regions.isEmpty { chosen.regions = kept.map { maps.regions[$0] } }
        if !missing.isEmpty { chosen.notes.append(.notFound(missing)) }
        return chosen
    }
}

/// Existing segmentations, structure sets and label maps as items: the entry in the registry.
extension ExistingLabels: RecipeKind {
    /// Also stands for the id of a model in events, reports and `--only`.
    package static let task = "existing-labels"
    package static let purpose = "read existing labels"
    package static let enablingOption: String? = ExistingLabelsOptions.enabling
    /// `Schemas/existing-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.existing_result_schema_json)
    package static var result: any InspectableResult.Type { ExistingLabelsResult.self }

    /// - Parameter models: none, since no network runs.
    /// - Throws: `BatchError` for a regions file that cannot be used or has changed.
    package static func make(_ models: [ChosenModel], options: ExistingLabelsOptions) throws -> any Recipe {
        try ExistingLabels(options: options)
    }

    /// The pictures and the labels, grey where the object states no colour.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(ExistingLabelsResult.self, from: Data(result))
        var parts = ReviewParts(
            volumeWith: result.files,
            options: result.options,
            titles: SegmentationResult.pictureTitles
        )
        parts.labels = result.labels.map {
            ReviewParts.Label(
                value: $0.value,
                name: $0.name,
                color: $0.color ?? "#808080",
                mesh: $0.mesh?.reviewFile
            )
        }
        parts.facts = LabelFacts.text(result.labels.map { ($0.name, $0.voxelCount, $0.volumeMl) })
        return parts
    }
}
