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

/// The last three stages: measure the voxels at or above each value, extract surfaces, write files.
extension Isosurfaces {
    /// A volume with the measurements of its voxels.
    public struct MeasuredIntensities: Sendable {
        let source: VolumeSource
        let volume: Volume
        /// In the order of the values.
        let levels: [IsosurfaceLevel]
        /// Drawn while the label map is in memory; nil if it was not requested.
        let preview: RGBImage?
        let notes: [Note]
    }

    func finish(
        _ loaded: consuming LoadedIntensities,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeasuredIntensities {
        let (source, volume, notes) = (loaded.source, loaded.volume, loaded.notes)
        let labels = try IsosurfaceLevel.map(of: volume, at: options.values, scope: context.scope)
        let levels = try IsosurfaceLevel.levels(of: options.values, in: labels, scope: context.scope)
        var pictures = Preview(
            volume: volume,
            labels: labels,
            colors: Dictionary(
                uniqueKeysWithValues: levels.map {
                    (UInt16($0.index + 1), SIMD3($0.color.red, $0.color.green, $0.color.blue))
                }
            ),
            window: options.surfaces.window?.pictureWindow ?? source.window.flatMap(PictureWindow.init)
                ?? .percentiles,
            labelled: levels.first?.box,
            drawsSurface: options.surfaces.preview == .full
        )
        pictures.labelOpacity = options.surfaces.labelOpacity
        let preview = options.surfaces.preview == .none ? nil : try pictures.image(scope: context.scope)
        return MeasuredIntensities(source: source, volume: volume, levels: levels, preview: preview, notes: notes)
    }

    /// Values whose surfaces have been measured and written; surfaces are released one by one.
    public struct MeshedIntensities: Sendable {
        let source: VolumeSource
        let levels: [IsosurfaceLevel]
        let preview: RGBImage?
        /// The staging folder with the files of ``surfaces``.
        let folder: String
        /// By index of the value; none for a value that no voxel has.
        let surfaces: [Int: IsosurfacesResult.Measures]
        let notes: [Note]
    }

    func render(
        _ finished: consuming MeasuredIntensities,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> MeshedIntensities {
        let (source, volume, levels) = (finished.source, finished.volume, finished.levels)
        let folder = context.staging + "/meshes"
        var writer: SurfaceWriter?
        if let format = options.surfaces.meshes.format {
            try FileSystem.makeFolder(context.staging)
            try FileSystem.makeEmptyFolder(folder)
            writer = SurfaceWriter(format, frame: options.surfaces.frame, folder: folder, scope: context.scope)
        }
        var surfaces: [Int: IsosurfacesResult.Measures] = [:]
        for level in levels where level.voxelCount > 0 {
            let surface = try surface(of: level, in: volume, source, item, context.scope)
            surfaces[level.index] = try IsosurfacesResult.Measures(of: surface, writer, level)
        }
        try writer?.finish()
        return MeshedIntensities(
            source: source,
            levels: levels,
            preview: finished.preview,
            folder: folder,
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
                limit: IsosurfaceMemory.triangleLimit(of: volume.geometry.shape),
                scope: scope
            )
        } catch let error as IsosurfaceError {
            let unit = source.intensityUnit.map { " " + $0 } ?? ""
            throw VolumeError(
                code: .tooManyTriangles,
                path: item.path,
                detail: "the surface at \(level.name)\(unit) would have \(error.triangles) triangles; at most "
                    + "\(error.limit) are made of a volume of this size: use a higher value or a reduced volume"
            )
        }
    }

    func write(
        _ meshed: consuming MeshedIntensities,
        into folder: String,
        _ item: RecipeItem,
        _ context: StageContext
    ) throws -> ItemProduct {
        try IsosurfacesWriter(options: options, meshed: meshed, item: item).write(into: folder)
    }
}

extension VolumeSource {
    /// The unit of its intensities; nil where the header states none.
    var intensityUnit: String? { isHounsfield == true ? "HU" : nil }
}
