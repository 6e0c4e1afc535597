import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The last three stages: clean and measure labels, extract surfaces, write files.
extension VolumeSegmentation {
    /// Cleaned labels with their measurements.
    package struct FinishedVolume: Sendable {
        let source: VolumeSource
        /// On the volume's own grid, cleaned, with the labels that were asked for.
        let labels: LabelVolume
        let measures: Measures
        /// What the rules have changed; empty without rules.
        let cleaning: [LabelCleaning]
        /// By label, before cleaning; empty for labels that a person has drawn.
        let confidence: [UInt16: LabelConfidence]
        /// Nil where no network has run.
        let probabilities: ProbabilityMaps?
        let earlier: EarlierLabels?
        let engine: ResultEngine
        /// Drawn while the source image is still in memory.
        let pictures: StagedPictures
        /// With those of the measures.
        let notes: [Note]
    }

    func finish(
        _ inferred: consuming LabelledVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> FinishedVolume {
        let model = try model(inferred.source.model)
        // What a person has drawn is not cleaned; earlier labels and those on the grid of a program have been.
        let isFinal = item.edit != nil || inferred.cleaning != nil
        let rules = isFinal ? PostprocessRules() : model.settings.postprocessing
        let kept = options.labels.map { _ in Set(model.wantedLabels(options).map(\.value)) }
        let (labels, cleaning) = try inferred.labels.cleaned(by: rules, keeping: kept, scope: context.scope)
        // After the cleaning: all measures are of the labels that are written.
        let found = try measures(inferred, labels, item, context)
        var content = PictureContent(image: (inferred.source, inferred.volume), labels: labels)
        content.colors = Dictionary(uniqueKeysWithValues: model.wantedLabels(options).map { ($0.value, $0.color) })
        content.entries = zip(model.wantedLabels(options), found.labels).filter { $1.voxelCount > 0 }.map { label, _ in
            PictureLegend.Entry(text: label.title ?? label.name, color: label.color.components)
        }
        content.labelled = VoxelBox(around: found.labels.compactMap(\.boundingBox))
        content.labelOpacity = options.surfaces.labelOpacity
        content.modalities = model.package.modalities
        // For an image whose header has no window.
        content.fallback = model.pictureWindow
        (content.regions, content.unit) = (found.regions, found.unit)
        let pictures = try options.pictures.draw(content, into: context)
        return FinishedVolume(
            source: inferred.source,
            labels: labels,
            measures: found,
            cleaning: inferred.cleaning ?? cleaning,
            confidence: inferred.confidence,
            probabilities: inferred.probabilities,
            earlier: inferred.earlier,
            engine: inferred.engine,
            pictures: pictures,
            notes: inferred.notes + found.notes + pictures.notes
        )
    }

    /// What was measured on the labels and regions.
    struct Measures: Sendable {
        /// In ``unit``, as ``regions``.
        let labels: [LabelMeasurement]
        let regions: MeasuredRegions
        let unit: MeasuredUnit
        let comparison: SegmentationResult.Comparison?
        let secondImage: SegmentationResult.SecondImage?
        /// On the second image; nil where that lies outside the label map.
        let secondImageLabels: [LabelMeasurement]?
        /// Nil if it was not requested.
        let radiomics: RadiomicsMeasures?
        let notes: [Note]
    }

    private func measures(
        _ inferred: LabelledVolume,
        _ labels: LabelVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> Measures {
        let scope = context.scope
        let model = try model(inferred.source.model)
        let wanted = model.wantedLabels(options)
        let unit = try MeasuredUnit(of: inferred.source, scope: scope)
        let measurements = try LabelMeasurement.measure(
            labels: labels,
            image: inferred.volume,
            values: wanted.map(\.value),
            connectivity: .corners,
            scope: scope
        ).map { unit.applied(to: $0) }
        let regions = unit.applied(
            to: try regions?.measure(on: inferred.volume, of: item.name, inferred.source.paths, scope: scope)
                ?? MeasuredRegions()
        )
        let compared = try ReferenceComparison(options, inferred.source).compare(
            labels,
            named: wanted,
            among: model.package.labels,
            scope: scope
        )
        let second = try SecondImageMeasurement(inferred.source, options.radiomics.choice).measure(
            labels,
            wanted,
            scope: scope
        )
        // A volume file states no modality; a package for a single one then decides on the preset.
        let modality = inferred.source.modality ?? model.package.onlyModality
        let radiomics = try options.radiomics.choice.map { choice in
            try RadiomicsMeasurement(settings: choice.settings(modality: modality), scale: unit.scale)
                .measures(of: wanted, in: labels, on: inferred.volume, scope: scope)
        }
        return Measures(
            labels: measurements,
            regions: regions,
            unit: unit,
            comparison: compared.comparison,
            secondImage: second.image,
            secondImageLabels: second.labels,
            radiomics: radiomics,
            notes: [try model.intensityNote(on: inferred.volume, inferred.source, measurements, scope: scope)]
                .compactMap(\.self) + unit.notes + regions.notes + compared.notes + second.notes
        )
    }

    /// Labels whose surfaces have been written; surfaces are released one by one.
    package struct MeshedVolume: Sendable {
        let finished: FinishedVolume
        /// By label; none for a label without voxels, or whose surface is too large.
        let meshes: [UInt16: SegmentationResult.Mesh]
        let notes: [Note]
    }

    func render(
        _ finished: consuming FinishedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedVolume {
        guard let writer = try SurfaceWriter(options.surfaces, context) else {
            return MeshedVolume(finished: finished, meshes: [:], notes: [])
        }
        // A label without voxels has no surface, and gets no file.
        let present = Set(finished.measures.labels.filter { $0.voxelCount > 0 }.map(\.value))
        // In the order of the package, whatever the order of the options.
        let labels = try model(finished.source.model).package.labels.filter { present.contains($0.value) }
        let written = try writer.write(
            labels.map { .init(value: $0.value, name: "\(own: $0.name)", fileName: $0.name, color: $0.color) },
            in: finished.labels,
            within: context.isLean
                ? VolumeMemory.surfaceBytes(finished.labels.geometry.shape, lean: true) + context.spareBytes : nil
        )
        try writer.finish()
        return MeshedVolume(finished: finished, meshes: written.meshes, notes: written.notes)
    }

    func write(
        _ meshed: consuming MeshedVolume,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        let model = try model(meshed.finished.source.model)
        return try SegmentationWriter(
            model: model,
            options: options,
            labels: model.wantedLabels(options),
            meshed: meshed,
            item: item
        ).write(into: folder, context)
    }
}

extension LabelVolume {
    /// The labels after the rules, restricted to some of them. The restriction comes last, since a rule may refer to several
    /// labels. The memory of the labels is changed: nobody may read this volume afterwards.
    /// - Parameters:
    ///   - kept: nil for all.
    ///   - bytes: the limit for rules about components; nil for what is planned for a volume.
    /// - Returns: the labels, and what the rules have changed.
    /// - Throws: `CancelledError`, `AllocationError`.
    func cleaned(
        by rules: PostprocessRules,
        keeping kept: Set<UInt16>? = nil,
        within bytes: Int? = nil,
        scope: ComputeScope
    ) throws -> (LabelVolume, [LabelCleaning]) {
        guard !rules.isEmpty || kept != nil else { return (self, []) }
        var buffer = voxels.thawed()
        let cleaning = try LabelCleaner.apply(
            rules,
            to: &buffer,
            geometry: geometry,
            within: bytes ?? VolumeMemory.componentBytes(geometry.shape),
            scope: scope
        )
        if let kept { try buffer.keep(kept, shape: geometry.shape, scope: scope) }
        return (LabelVolume(geometry: geometry, voxels: buffer.frozen()), cleaning)
    }
}

extension VoxelBuffer<UInt16> {
    /// Removes all other labels of a map.
    mutating func keep(_ values: Set<UInt16>, shape: VolumeShape, scope: ComputeScope) throws {
        try withParallelBuffer { voxels in
            try scope.forEach(shape.z) { k in
                for index in k * shape.sliceCount..<(k + 1) * shape.sliceCount
                where voxels[index] != 0 && !values.contains(voxels[index]) { voxels[index] = 0 }
            }
        }
    }
}
