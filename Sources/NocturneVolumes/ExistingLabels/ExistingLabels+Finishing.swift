import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneMesh
import NocturnePostprocess
import NocturneSystem

/// The last three stages: measure labels, extract surfaces, write files.
extension ExistingLabels {
    /// Labels with their measurements.
    package struct MeasuredLabels: Sendable {
        let maps: LabelMaps
        /// In the order of the labels.
        let measurements: [LabelMeasurement]
        /// Whether an image was measured.
        let hasIntensities: Bool
        /// Of the intensities.
        let unit: MeasuredUnit
        /// Nil if it was not requested, or there are no intensities.
        let radiomics: RadiomicsMeasures?
        /// In the order of the regions file, in the unit.
        let regions: [RegionMeasurement]
        /// Drawn while the source images are still in memory.
        let pictures: StagedPictures
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
            let measured = try LabelMeasurement.measure(
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
            throw VolumeError(.labelWithoutVolume, path: inferred.source.path, "a label belongs to no label volume")
        }
        let regions = try measuredRegions(inferred, unit, item, scope)
        let pictures = try draw(inferred, measurements, regions, unit, context)
        let radiomics = try radiomics(of: inferred, unit, scope)
        var maps = inferred
        maps.notes += unit.notes + regions.notes + notMeasured(maps)
        maps.notes += notFinite(maps, measurements) + pictures.notes
        // Nothing reads its voxels from here on.
        maps.image = nil
        return MeasuredLabels(
            maps: maps,
            measurements: measurements,
            hasIntensities: image != nil,
            unit: unit,
            radiomics: radiomics,
            regions: regions.measurements,
            pictures: pictures
        )
    }

    private func notMeasured(_ maps: LabelMaps) -> [Note] {
        guard maps.image == nil else { return [] }
        let reason: Sentence = "there is no image on the grid of the labels"
        return [
            options.radiomics.choice.map { _ in Note("radiomics.noImage", "no radiomic features: " + reason) },
            regions.map { _ in Note("region.noImage", "no regions of interest: " + reason) },
        ].compactMap(\.self)
    }

    /// The voxels of each label that count for its volume and not for its intensities.
    private func notFinite(_ maps: LabelMaps, _ measurements: [LabelMeasurement]) -> [Note] {
        guard maps.image != nil else { return [] }
        let left = zip(maps.labels, measurements).compactMap { label, measured -> String? in
            let count = measured.voxelCount - (measured.intensity?.histogram.counts.reduce(0, +) ?? 0)
            return count > 0 ? "\(count) of \(label.name)" : nil
        }
        guard !left.isEmpty else { return [] }
        let text: Sentence =
            "voxels that are NaN, infinite or outside the range of float32 are not in the intensities: "
            + "\(listed(left, most: 8))"
        return [Note("volume.notFinite", text)]
    }

    private func measuredRegions(
        _ maps: LabelMaps,
        _ unit: MeasuredUnit,
        _ item: RecipeItem,
        _ scope: ComputeScope
    ) throws -> MeasuredRegions {
        guard let regions, let image = maps.image else { return MeasuredRegions() }
        return unit.applied(to: try regions.measure(on: image, of: item.name, maps.source.paths, scope: scope))
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
    private func draw(
        _ maps: LabelMaps,
        _ measurements: [LabelMeasurement],
        _ regions: MeasuredRegions,
        _ unit: MeasuredUnit,
        _ context: StageContext
    ) throws -> StagedPictures {
        let image = maps.image.flatMap { volume in maps.source.image.map { (source: $0, volume: volume) } }
        var content = PictureContent(image: image, labels: try drawn(maps.volumes, context.scope))
        content.colors = Dictionary(maps.labels.map { ($0.value, $0.displayColor) }) { first, _ in first }
        content.entries = zip(maps.labels, measurements).filter { $1.voxelCount > 0 }.map { label, _ in
            PictureLegend.Entry(text: "\(label.name)", color: label.displayColor.components)
        }
        content.labelled = VoxelBox(around: measurements.compactMap(\.boundingBox))
        content.labelOpacity = options.surfaces.labelOpacity
        (content.regions, content.unit) = (regions, unit)
        return try options.pictures.draw(content, into: context)
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
    package struct MeshedLabels: Sendable {
        let measured: MeasuredLabels
        /// By index of the label.
        let meshes: [Int: SegmentationResult.Mesh]
        let notes: [Note]
    }

    func render(
        _ finished: consuming MeasuredLabels,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedLabels {
        guard let writer = try SurfaceWriter(options.surfaces, context) else {
            return MeshedLabels(measured: finished, meshes: [:], notes: [])
        }
        let (meshes, notes) =
            finished.maps.source.kind == .structureSet
            ? try extruded(finished, writer, context.scope) : try extracted(finished, writer)
        try writer.finish()
        return MeshedLabels(measured: finished, meshes: meshes, notes: notes)
    }

    private typealias Surfaces = (meshes: [Int: SegmentationResult.Mesh], notes: [Note])

    /// Surfaces around the voxels of a segmentation.
    private func extracted(_ finished: MeasuredLabels, _ writer: SurfaceWriter) throws -> Surfaces {
        var surfaces: Surfaces = ([:], [])
        let maps = finished.maps
        for (place, volume) in maps.volumes.enumerated() {
            let own = maps.labels.indices.filter {
                maps.labels[$0].volume == place && finished.measurements[$0].voxelCount > 0
            }
            let written = try writer.write(
                own.map { index in
                    let label = maps.labels[index]
                    return .init(
                        value: label.value,
                        name: "\(label.name)",
                        fileName: label.fileName,
                        color: label.displayColor
                    )
                },
                in: volume
            )
            for index in own { surfaces.meshes[index] = written.meshes[maps.labels[index].value] }
            surfaces.notes += written.notes
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
        for (index, region) in maps.regions.enumerated() where !region.contours.isEmpty {
            let label = maps.labels[index]
            let made = try ContourExtruder.surface(
                of: region.contours.map(\.points),
                thickness: maps.source.geometry.spacing.z,
                tolerance: options.surfaces.meshTolerance(on: maps.source.geometry),
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
            surfaces.meshes[index] = try writer.write(
                made.mesh,
                name: label.fileName,
                color: label.displayColor.components
            )
        }
        return surfaces
    }

    func write(
        _ meshed: consuming MeshedLabels,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        try ExistingLabelsWriter(options: options, meshed: meshed, item: item).write(into: folder, context)
    }
}
