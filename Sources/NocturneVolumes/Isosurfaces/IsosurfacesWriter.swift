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
    func write(into folder: String, _ context: StageContext) throws -> ItemProduct {
        var written = try meshed.pictures.move(into: folder)
        written += try SurfaceWriter.move(meshed.surfaces.compactMap(\.mesh), from: context, into: folder)
        written += try meshed.pictures.writeReview(
            into: folder,
            item: item.name,
            labels: IsosurfacesResult.reviewLabels(meshed.surfaces)
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
            surfaces: meshed.surfaces,
            files: try written.map { try ItemFile($0, in: folder) },
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }

    /// Values that no voxel reaches, and surfaces that the border of the volume closes.
    private var levelNotes: [Note] {
        func names(_ status: LabelMeasurement.Status) -> String {
            meshed.surfaces.filter { $0.status == status.rawValue }.map(\.name).joined(separator: ", ")
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
