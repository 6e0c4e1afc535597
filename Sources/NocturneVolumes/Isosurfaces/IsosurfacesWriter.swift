import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Writes the result files of a volume's isosurfaces.
struct IsosurfacesWriter {
    let options: IsosurfaceOptions
    let meshed: Isosurfaces.MeshedIntensities
    let item: RecipeItem

    /// Moves the staged pictures and surfaces into the folder, and writes `result.json` last, which lists them.
    /// - Throws: `FileSystemError`.
    func write(into folder: String) throws -> ItemProduct {
        var written = try meshed.pictures.move(into: folder)
        let meshes = meshed.surfaces.values.compactMap(\.mesh)
        if !meshes.isEmpty {
            try FileSystem.move(meshed.folder, to: folder + "/meshes")
            written += meshes.fileNames
        }
        let surfaces = meshed.levels.map(entry)
        written += try meshed.pictures.writeReview(
            into: folder,
            item: item.name,
            labels: IsosurfacesResult.reviewLabels(surfaces)
        )
        let notes = meshed.source.shown(meshed.notes + levelNotes)
        let result = IsosurfacesResult(
            schemaVersion: 1,
            disclaimer: Disclaimer.text,
            task: Isosurfaces.model,
            item: item.name,
            fingerprint: item.fingerprint,
            source: SegmentationResult.Source(meshed.source),
            unit: meshed.source.intensityUnit,
            options: options.inResults(of: meshed.source),
            surfaces: surfaces,
            files: try written.map { try ItemFile($0, in: folder) },
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }

    /// Values that no voxel reaches, and surfaces that the border of the volume closes.
    private var levelNotes: [Note] {
        func names(_ isMeant: (IsosurfaceLevel) -> Bool) -> String {
            meshed.levels.filter(isMeant).map(\.name).joined(separator: ", ")
        }
        var notes: [Note] = []
        let absent = names { $0.status == .absent }
        if !absent.isEmpty {
            notes.append(Note("surface.valueAbsent", "no voxel has the value or more: \(own: absent)"))
        }
        let cut = names { $0.status == .touchesBorder }
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

    /// One surface in the result; areas and volumes are null for a value that no voxel reaches.
    private func entry(_ level: IsosurfaceLevel) -> IsosurfacesResult.Surface {
        func rounded(_ value: Double) -> Double { SegmentationResult.rounded(value) }
        func point(_ value: SIMD3<Float>) -> [Double] { (0..<3).map { rounded(Double(value[$0])) } }
        let surface = meshed.surfaces[level.index]
        return IsosurfacesResult.Surface(
            value: level.value,
            name: level.name,
            color: level.color.description,
            status: level.status.rawValue,
            voxelCount: level.voxelCount,
            boundingBox: level.box.map(SegmentationResult.Box.init),
            triangles: surface?.triangles ?? 0,
            areaMm2: surface.map { rounded($0.area) },
            volumeMm3: surface.map { rounded($0.volume) },
            // 1 ml is 1000 mm³.
            volumeMl: surface.map { rounded($0.volume / 1000) },
            boundsRasMm: surface.map { .init(lower: point($0.lower), upper: point($0.upper)) },
            closed: surface?.isClosed,
            touchesBorder: level.status == .touchesBorder,
            mesh: surface?.mesh
        )
    }
}
