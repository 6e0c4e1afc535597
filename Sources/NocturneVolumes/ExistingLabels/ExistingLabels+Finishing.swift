import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneMesh
import NocturnePictures
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The last three stages: measure labels, extract surfaces, write files.
extension ExistingLabels {
    /// Labels with their measurements.
    public struct MeasuredLabels: Sendable {
        let maps: LabelMaps
        /// In the order of the labels.
        let measurements: [LabelMeasurement]
        let hasIntensities: Bool
        /// Of the intensities.
        let unit: MeasuredUnit
        /// Nil if it was not requested, or there are no intensities.
        let radiomics: RadiomicsMeasures?
        /// Drawn while the source images are still in memory; nil if it was not requested.
        let preview: RGBImage?
    }

    func finish(
        _ inferred: consuming LabelMaps,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeasuredLabels {
        let scope = context.scope
        let labels = inferred.labels
        let image = inferred.image == nil ? nil : inferred.source.image
        let unit = try image.map { try MeasuredUnit(of: $0, scope: scope) } ?? MeasuredUnit(nil)
        var found: [Int: LabelMeasurement] = [:]
        for (place, volume) in inferred.volumes.enumerated() {
            let own = labels.indices.filter { labels[$0].volume == place }
            let measured = try LabelMeasurer.measure(
                labels: volume,
                image: inferred.image,
                values: own.map { labels[$0].value },
                connectivity: .corners,
                scope: scope
            )
            for (index, measurement) in zip(own, measured) { found[index] = unit.applied(to: measurement) }
        }
        let measurements = labels.indices.compactMap { found[$0] }
        guard measurements.count == labels.count else {
            throw VolumeError(
                code: .labelWithoutVolume,
                path: inferred.source.path,
                detail: "a label belongs to no label volume"
            )
        }
        let preview = options.surfaces.preview == .none ? nil : try preview(of: inferred, measurements, scope)
        return MeasuredLabels(
            maps: LabelMaps(
                source: inferred.source,
                labels: labels,
                volumes: inferred.volumes,
                image: nil,
                contours: inferred.contours,
                notes: inferred.notes + unit.notes + notMeasured(inferred)
            ),
            measurements: measurements,
            hasIntensities: inferred.image != nil,
            unit: unit,
            radiomics: try radiomics(of: inferred, unit, scope),
            preview: preview
        )
    }

    private func notMeasured(_ maps: LabelMaps) -> [Note] {
        guard options.radiomics.choice != nil, maps.image == nil else { return [] }
        return [Note("radiomics.noImage", "no radiomic features: there is no image on the grid of the labels")]
    }

    private func radiomics(
        of maps: LabelMaps,
        _ unit: MeasuredUnit,
        _ scope: ComputeScope
    ) throws -> RadiomicsMeasures? {
        guard let choice = options.radiomics.choice, let image = maps.image else { return nil }
        let settings = choice.settings(modality: maps.source.image?.modality)
        let measurement = RadiomicsMeasurement(settings: settings, scale: unit.scale)
        let names = Dictionary(maps.labels.map { ($0.value, $0.name) }) { first, _ in first }
        let regions = try maps.volumes.indices.flatMap { place in
            try measurement.regions(
                of: maps.labels.filter { $0.volume == place }.map(\.value),
                names: names,
                in: maps.volumes[place],
                on: image,
                scope: scope
            )
        }
        return try RadiomicsMeasures(settings: settings, regions: regions)
    }

    /// Draws on the source images, or on black.
    private func preview(
        of maps: LabelMaps,
        _ measurements: [LabelMeasurement],
        _ scope: ComputeScope
    ) throws -> RGBImage {
        let geometry = maps.source.geometry
        let isBlack = maps.image == nil
        let image: Volume
        if let volume = maps.image {
            image = volume
        } else {
            image = Volume(
                geometry: geometry,
                voxels: try VoxelBuffer<Float>(count: geometry.shape.count).frozen()
            )
        }
        let headerWindow = maps.source.image?.window.flatMap(PictureWindow.init)
        var preview = Preview(
            volume: image,
            labels: try drawn(maps.volumes, scope),
            colors: Dictionary(
                maps.labels.map { ($0.value, SIMD3($0.displayColor.red, $0.displayColor.green, $0.displayColor.blue)) }
            ) { first, _ in first },
            window: isBlack
                ? .fixed(lower: 0, upper: 1) : options.surfaces.window?.pictureWindow ?? headerWindow ?? .percentiles,
            labelled: VoxelBox(around: measurements.compactMap(\.boundingBox)),
            drawsSurface: options.surfaces.preview == .full
        )
        preview.labelOpacity = options.surfaces.labelOpacity
        return try preview.image(scope: scope)
    }

    /// All volumes merged into one: where labels overlap, later volumes take precedence.
    private func drawn(_ volumes: [LabelVolume], _ scope: ComputeScope) throws -> LabelVolume {
        guard volumes.count > 1 else { return volumes[0] }
        let shape = volumes[0].geometry.shape
        var buffer = try volumes[0].voxels.mutableCopy()
        for volume in volumes.dropFirst() {
            try volume.voxels.withParallelReader { source in
                try buffer.withParallelBuffer { target in
                    try scope.forEach(shape.z) { k in
                        for voxel in k * shape.sliceCount..<(k + 1) * shape.sliceCount where source[voxel] != 0 {
                            target[voxel] = source[voxel]
                        }
                    }
                }
            }
        }
        return LabelVolume(geometry: volumes[0].geometry, voxels: buffer.frozen())
    }

    /// Labels whose surfaces have been written; surfaces are released one by one.
    public struct MeshedLabels: Sendable {
        let measured: MeasuredLabels
        /// The staging folder with the files of ``meshes``.
        let folder: String
        /// By index of the label.
        let meshes: [Int: SegmentationResult.Mesh]
        let notes: [Note]
    }

    func render(
        _ finished: consuming MeasuredLabels,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedLabels {
        let folder = context.staging + "/meshes"
        guard let format = options.surfaces.meshes.format else {
            return MeshedLabels(measured: finished, folder: folder, meshes: [:], notes: [])
        }
        try FileSystem.makeFolder(context.staging)
        try FileSystem.makeEmptyFolder(folder)
        let writer = SurfaceWriter(format, frame: options.surfaces.frame, folder: folder, scope: context.scope)
        let (meshes, notes) =
            finished.maps.source.kind == .structureSet
            ? try extruded(finished, writer, context.scope) : try extracted(finished, writer, context.scope)
        try writer.finish()
        return MeshedLabels(measured: finished, folder: folder, meshes: meshes, notes: notes)
    }

    private typealias Surfaces = (meshes: [Int: SegmentationResult.Mesh], notes: [Note])

    /// Surfaces around the voxels of a segmentation.
    private func extracted(
        _ finished: MeasuredLabels,
        _ writer: SurfaceWriter,
        _ scope: ComputeScope
    ) throws -> Surfaces {
        var surfaces: Surfaces = ([:], [])
        let maps = finished.maps
        let bytes = VolumeMemory.surfaceBytes(maps.source.geometry.shape)
        for (place, volume) in maps.volumes.enumerated() {
            let own = maps.labels.indices.filter {
                maps.labels[$0].volume == place && finished.measurements[$0].voxelCount > 0
            }
            let forecast = try SurfaceForecast(of: volume, scope: scope)
            let isSmall = { index in forecast.workingBytes(of: maps.labels[index].value) <= bytes }
            let places = Dictionary(own.map { (maps.labels[$0].value, $0) }) { first, _ in first }
            try forecast.forEachSurface(
                of: own.filter(isSmall).map { maps.labels[$0].value },
                in: volume,
                within: bytes,
                scope: scope
            ) { value, surface in
                guard !surface.isEmpty, let index = places[value] else { return }
                surfaces.meshes[index] = try writer.write(surface, of: maps.labels[index])
            }
            for index in own where !isSmall(index) {
                surfaces.notes.append(
                    Note(
                        "surface.tooLarge",
                        "no surface for \(maps.labels[index].name): it needs more memory than planned for surfaces"
                    )
                )
            }
        }
        return surfaces
    }

    /// Surfaces extruded from the contours of a structure set.
    private func extruded(
        _ finished: MeasuredLabels,
        _ writer: SurfaceWriter,
        _ scope: ComputeScope
    ) throws -> Surfaces {
        var surfaces: Surfaces = ([:], [])
        let maps = finished.maps
        for (index, contours) in maps.contours.enumerated() where !contours.isEmpty {
            let label = maps.labels[index]
            let made = try ContourExtruder.surface(
                of: contours,
                thickness: maps.source.geometry.spacing.z,
                scope: scope
            )
            if made.omitted > 0 {
                surfaces.notes.append(
                    Note("surface.contoursOmitted", "\(label.name): the surface omits \(made.omitted) contours")
                )
            }
            if made.selfIntersectingPlanes > 0 {
                surfaces.notes.append(
                    Note(
                        "surface.contoursCross",
                        "\(label.name): contours cross each other in \(made.selfIntersectingPlanes) planes"
                    )
                )
            }
            guard !made.mesh.isEmpty else { continue }
            surfaces.meshes[index] = try writer.write(made.mesh, of: label)
        }
        return surfaces
    }

    func write(
        _ meshed: consuming MeshedLabels,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        try ExistingLabelsWriter(options: options, meshed: meshed, item: item).write(into: folder, scope: context.scope)
    }
}

extension SurfaceWriter {
    fileprivate func write(_ surface: SurfaceMesh, of label: ExistingLabel) throws -> SegmentationResult.Mesh {
        let color = label.displayColor
        return try write(surface, name: label.fileName, color: SIMD3(color.red, color.green, color.blue))
    }
}
