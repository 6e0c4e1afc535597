import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneMesh
import NocturneNumerics
import NocturnePictures
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// The last three stages: clean and measure labels, extract surfaces, write files.
extension VolumeSegmentation {
    /// Cleaned labels with their measurements.
    public struct FinishedVolume: Sendable {
        let source: VolumeSource
        let labels: LabelVolume
        /// In ``unit``, as ``regions``.
        let measurements: [LabelMeasurement]
        let unit: MeasuredUnit
        let cleaning: [LabelCleaning]
        let confidence: [UInt16: LabelConfidence]
        let probabilities: ProbabilityMaps?
        let earlier: EarlierLabels?
        let engine: ResultEngine
        let regions: [RegionMeasurement]
        let comparison: ReferenceComparison.Outcome?
        let secondImage: SecondImageMeasurement.Outcome?
        /// Nil if it was not requested.
        let radiomics: RadiomicsMeasures?
        /// Drawn while the source image is still in memory; nil if it was not requested.
        let preview: RGBImage?
        /// The files of animated slices and of measured regions in staging, drawn then too.
        let pictures: [String]
        /// The files of the rendering in staging, drawn then too.
        let renderings: [RenderingWriter.Written]
        /// In staging; nil if it was not requested.
        let review: StagedReviewVolume?
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
        let rules = isFinal ? PostprocessRules() : model.postprocessRules
        let (labels, cleaning) = try cleaned(inferred.labels, rules, of: model, scope: context.scope)
        let found = try measures(inferred, labels, item, context)
        var pictures = Preview(
            volume: inferred.volume,
            labels: labels,
            colors: Dictionary(
                uniqueKeysWithValues: wantedLabels(of: model).map {
                    ($0.value, SIMD3($0.color.red, $0.color.green, $0.color.blue))
                }
            ),
            window: options.surfaces.window?.pictureWindow ?? inferred.source.window.flatMap(PictureWindow.init)
                ?? model.pictureWindow,
            labelled: VoxelBox(around: found.labels.compactMap(\.boundingBox)),
            drawsSurface: options.surfaces.preview == .full
        )
        pictures.labelOpacity = options.surfaces.labelOpacity
        let preview = options.surfaces.preview == .none ? nil : try pictures.image(scope: context.scope)
        var files = options.drawsSlices ? try SliceWriter.write(pictures, options.planes, into: context) : []
        if options.surfaces.preview != .none {
            files += try [found.regions.writePicture(pictures, unit: found.unit.shown, into: context)].compactMap { $0 }
        }
        let preset = options.rendering.preset
        let refusal = preset.flatMap { RenderingWriter.refusal($0, inferred.source) }
        let renderings =
            try refusal != nil ? [] : preset.map { try RenderingWriter.write($0, of: pictures, into: context) } ?? []
        return FinishedVolume(
            source: inferred.source,
            labels: labels,
            measurements: found.labels,
            unit: found.unit,
            cleaning: inferred.cleaning ?? cleaning,
            confidence: inferred.confidence,
            probabilities: inferred.probabilities,
            earlier: inferred.earlier,
            engine: inferred.engine,
            regions: found.regions.measurements,
            comparison: found.comparison,
            secondImage: found.secondImage,
            radiomics: found.radiomics,
            preview: preview,
            pictures: files,
            renderings: renderings,
            review: try review(of: inferred, labels, model, context),
            notes: inferred.notes + found.notes + [refusal].compactMap { $0 }
                + (options.surfaces.preview == .none ? [] : [found.regions.pictureNote].compactMap { $0 })
        )
    }

    /// What was measured on the labels and regions.
    private struct Measures {
        let labels: [LabelMeasurement]
        let regions: MeasuredRegions
        let unit: MeasuredUnit
        let comparison: ReferenceComparison.Outcome?
        let secondImage: SecondImageMeasurement.Outcome?
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
        let wanted = wantedLabels(of: model)
        let unit = try MeasuredUnit(of: inferred.source, scope: scope)
        let measurements = try LabelMeasurer.measure(
            labels: labels,
            image: inferred.volume,
            values: wanted.map(\.value),
            connectivity: .corners,
            scope: scope
        ).map { unit.applied(to: $0) }
        let regions = unit.applied(
            to: try regions?.measure(on: inferred.volume, of: inferred.source, item, scope: scope)
                ?? MeasuredRegions()
        )
        let compared = try ReferenceComparison(options, inferred.source).compare(
            labels,
            named: wanted,
            scope: scope
        )
        let second = try SecondImageMeasurement(inferred.source, options.radiomics.choice).measure(
            labels,
            wanted,
            scope: scope
        )
        let modality = inferred.source.modality ?? model.package.onlyModality
        let radiomics = try options.radiomics.choice.map { choice in
            try RadiomicsMeasurement(settings: choice.settings(modality: modality), scale: unit.scale)
                .measures(of: wanted, in: labels, on: inferred.volume, scope: scope)
        }
        return Measures(
            labels: measurements,
            regions: regions,
            unit: unit,
            comparison: compared.outcome,
            secondImage: second.outcome,
            radiomics: radiomics,
            notes: unit.notes + regions.notes + compared.notes + second.notes
        )
    }

    private func review(
        of inferred: LabelledVolume,
        _ labels: LabelVolume,
        _ model: SegmentationModel,
        _ context: StageContext
    ) throws -> StagedReviewVolume? {
        guard options.review == .volumes else { return nil }
        let intensities = ReviewVolume.Intensities(
            isHounsfield: inferred.source.isHounsfield,
            modelModalities: model.package.modalities,
            header: inferred.source.window,
            fallback: model.pictureWindow
        )
        return try ReviewVolume.stage(inferred.volume, labels: labels, intensities, into: context)
    }

    /// Labels after the package's cleaning rules, restricted to the requested ones. The restriction comes last, since a
    /// rule may refer to several labels.
    private func cleaned(
        _ labels: LabelVolume,
        _ rules: PostprocessRules,
        of model: SegmentationModel,
        scope: ComputeScope
    ) throws -> (LabelVolume, [LabelCleaning]) {
        guard !rules.isEmpty || options.labels != nil else { return (labels, []) }
        var buffer = try labels.voxels.mutableCopy()
        let cleaning = try LabelCleaner.apply(
            rules,
            to: &buffer,
            geometry: labels.geometry,
            within: VolumeMemory.componentBytes(labels.geometry.shape),
            scope: scope
        )
        if options.labels != nil {
            let wanted = Set(wantedLabels(of: model).map(\.value))
            let shape = labels.geometry.shape
            try buffer.withParallelBuffer { voxels in
                try scope.forEach(shape.z) { k in
                    for index in k * shape.sliceCount..<(k + 1) * shape.sliceCount
                    where voxels[index] != 0 && !wanted.contains(voxels[index]) { voxels[index] = 0 }
                }
            }
        }
        return (LabelVolume(geometry: labels.geometry, voxels: buffer.frozen()), cleaning)
    }

    /// Labels whose surfaces have been written; surfaces are released one by one.
    public struct MeshedVolume: Sendable {
        let finished: FinishedVolume
        /// The staging folder with the files of ``meshes``.
        let folder: String
        let meshes: [UInt16: SegmentationResult.Mesh]
        let notes: [Note]
    }

    func render(
        _ finished: consuming FinishedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedVolume {
        let folder = context.staging + "/meshes"
        guard let format = options.surfaces.meshes.format else {
            return MeshedVolume(finished: finished, folder: folder, meshes: [:], notes: [])
        }
        let present = finished.measurements.filter { $0.voxelCount > 0 }.map(\.value)
        let bytes = VolumeMemory.surfaceBytes(finished.labels.geometry.shape)
        let forecast = try SurfaceForecast(of: finished.labels, scope: context.scope)
        let labels = try Dictionary(
            uniqueKeysWithValues: model(finished.source.model).package.labels.map { ($0.value, $0) }
        )
        try FileSystem.makeFolder(context.staging)
        try FileSystem.makeEmptyFolder(folder)
        let writer = SurfaceWriter(format, frame: options.surfaces.frame, folder: folder, scope: context.scope)
        var meshes: [UInt16: SegmentationResult.Mesh] = [:]
        try forecast.forEachSurface(
            of: present.filter { forecast.workingBytes(of: $0) <= bytes },
            in: finished.labels,
            within: bytes,
            scope: context.scope
        ) { value, surface in
            guard !surface.isEmpty, let label = labels[value] else { return }
            let color = SIMD3(label.color.red, label.color.green, label.color.blue)
            meshes[value] = try writer.write(surface, name: label.name, color: color)
        }
        try writer.finish()
        let tooLarge = present.filter { forecast.workingBytes(of: $0) > bytes }
        let notes = tooLarge.map { value in
            Note(
                "surface.tooLarge",
                "no surface for \(own: labels[value]?.name ?? "\(value)"): it would have about "
                    + "\(forecast.vertexCount(of: value)) vertices, more than the memory planned for surfaces can hold"
            )
        }
        return MeshedVolume(finished: finished, folder: folder, meshes: meshes, notes: notes)
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
            labels: wantedLabels(of: model),
            meshed: meshed,
            item: item
        ).write(into: folder, scope: context.scope)
    }

    // MARK: Settings from the package and the options

    func wantedLabels(of model: SegmentationModel) -> [ModelLabel] { model.wantedLabels(options) }
}
