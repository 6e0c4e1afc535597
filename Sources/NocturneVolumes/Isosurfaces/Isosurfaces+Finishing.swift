import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturneMesh
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// The last three stages: measure the voxels at or above each value, extract surfaces, write files.
extension Isosurfaces {
    /// A volume with the measurements of its voxels.
    package struct MeasuredIntensities: Sendable {
        let source: VolumeSource
        /// On its stored grid; the surfaces are made of it.
        let volume: Volume
        /// In the order of the values.
        let levels: [IsosurfaceLevel]
        /// Drawn while the label map is in memory.
        let pictures: StagedPictures
        let notes: [Note]
    }

    /// Measures the voxels at or above each value, and draws the pictures.
    /// - Throws: `AllocationError`, `CancelledError`; errors of drawing.
    func finish(
        _ loaded: consuming LoadedVolume,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeasuredIntensities {
        let (source, volume, notes) = (loaded.source, loaded.channels[0], loaded.notes)
        let labels = try IsosurfaceLevel.map(of: volume, at: options.values, scope: context.scope)
        let levels = try IsosurfaceLevel.levels(of: options.values, in: labels, scope: context.scope)
        var content = PictureContent(image: (source, volume), labels: labels)
        // 0 is the background of the map, so values count from 1.
        content.colors = Dictionary(uniqueKeysWithValues: levels.map { (UInt16($0.index + 1), $0.color) })
        content.entries = levels.filter { $0.voxelCount > 0 }.map { level in
            let unit = source.intensityUnit.map { " " + $0 } ?? ""
            return PictureLegend.Entry(text: "at least \(level.name)\(unit)", color: level.color.components)
        }
        // Values are in ascending order: the box of the lowest one holds those of all others.
        content.labelled = levels.first?.box
        content.labelOpacity = options.surfaces.labelOpacity
        let pictures = try options.pictures.draw(content, into: context)
        return MeasuredIntensities(
            source: source,
            volume: volume,
            levels: levels,
            pictures: pictures,
            notes: notes + pictures.notes
        )
    }

    /// Values whose surfaces have been measured and written; surfaces are released one by one.
    package struct MeshedIntensities: Sendable {
        let source: VolumeSource
        let pictures: StagedPictures
        /// In the order of the values.
        let surfaces: [IsosurfacesResult.Surface]
        let notes: [Note]
    }

    func render(
        _ finished: consuming MeasuredIntensities,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedIntensities {
        let (source, volume) = (finished.source, finished.volume)
        // Nil without a format for surfaces: they are still made, since the result has their areas and volumes.
        let writer = try SurfaceWriter(options.surfaces, context)
        let surfaces = try finished.levels.map { level in
            let isReached = level.voxelCount > 0
            let surface = isReached ? try surface(of: level, in: volume, source, item, context.scope) : nil
            return try IsosurfacesResult.Surface(level, surface, writer)
        }
        try writer?.finish()
        return MeshedIntensities(
            source: source,
            pictures: finished.pictures,
            surfaces: surfaces,
            notes: finished.notes
        )
    }

    private func surface(
        of level: IsosurfaceLevel,
        in volume: Volume,
        _ source: VolumeSource,
        _ item: RecipeItem,
        _ scope: ComputeScope
    ) throws -> SurfaceMesh {
        do {
            return try IsosurfaceExtractor.surface(
                at: Float(level.value),
                in: volume,
                limit: Self.triangleLimit(of: volume.geometry.shape),
                scope: scope
            )
        } catch let error as IsosurfaceExtractor.LimitError {
            // The number is exact: triangles are counted before memory for them is allocated.
            let unit = source.intensityUnit.map { " " + $0 } ?? ""
            throw VolumeError(
                .tooManyTriangles,
                path: item.path,
                "the surface at \(level.name)\(unit) would have \(error.triangles) triangles; at most "
                    + "\(error.limit) are made of a volume of this size: use a higher value or a reduced volume"
            )
        }
    }

    /// Moves the staged pictures and surfaces into the folder, and writes `result.json` last, which lists them.
    /// - Throws: `FileSystemError`.
    func write(
        _ meshed: consuming MeshedIntensities,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        var written = try meshed.pictures.move(into: folder)
        written += try SurfaceWriter.move(meshed.surfaces.compactMap(\.mesh), from: context, into: folder)
        written += try meshed.pictures.writeReview(
            into: folder,
            item: item.name,
            labels: IsosurfacesResult.reviewLabels(meshed.surfaces)
        )
        let notes = meshed.source.shown(meshed.notes + meshed.levelNotes)
        let result = IsosurfacesResult(
            schemaVersion: 1,
            disclaimer: Disclaimer.text,
            task: Self.task,
            item: item.name,
            fingerprint: item.fingerprint,
            source: SegmentationResult.Source(meshed.source),
            unit: meshed.source.intensityUnit,
            options: options.inResults(of: meshed.source),
            surfaces: meshed.surfaces,
            files: try written.map { try ItemFile($0, in: folder) },
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }
}

extension Isosurfaces.MeshedIntensities {
    /// Values that no voxel reaches, and surfaces that the border of the volume closes.
    fileprivate var levelNotes: [Note] {
        func names(_ status: LabelMeasurement.Status) -> String {
            surfaces.filter { $0.status == status.rawValue }.map(\.name).joined(separator: ", ")
        }
        var notes: [Note] = []
        let absent = names(.absent)
        if !absent.isEmpty {
            notes.append(Note("surface.valueAbsent", "no voxel has the value or more: \(own: absent)"))
        }
        let cut = names(.touchesBorder)
        if !cut.isEmpty {
            notes.append(
                Note(
                    "surface.touchesBorder",
                    "closed at the border of the volume, only the visible part is measured: \(own: cut)"
                )
            )
        }
        return notes
    }
}

extension VolumeSource {
    /// The unit of its intensities; nil where the header states none.
    var intensityUnit: String? { isHounsfield == true ? "HU" : nil }
}
