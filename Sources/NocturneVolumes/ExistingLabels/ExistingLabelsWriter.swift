import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Writes the result files of a segmentation or structure set.
struct ExistingLabelsWriter {
    let options: ExistingLabelsOptions
    let meshed: ExistingLabels.MeshedLabels
    let item: RecipeItem

    private var maps: ExistingLabels.LabelMaps { meshed.measured.maps }

    /// Writes one label map for each volume of labels, pictures and surfaces, and `result.json` last.
    /// - Throws: `FileSystemError`, `AllocationError`, `CancelledError`; errors of the formats.
    func write(into folder: String, _ context: StageContext) throws -> ItemProduct {
        var written: [String] = []
        for (place, volume) in maps.volumes.enumerated() {
            let names = maps.labels.filter { $0.volume == place }.map {
                NIfTIWriter.Label(value: $0.value, name: $0.name, color: $0.displayColor)
            }
            let path = folder + "/" + file(place)
            try NIfTIWriter.writeLabels(volume, names: names, forms: nil, to: path, scope: context.scope)
            written.append(file(place))
        }
        written += try meshed.measured.pictures.move(into: folder)
        written += try SurfaceWriter.move(meshed.meshes.values, from: context, into: folder)
        written += try meshed.measured.pictures.writeReview(into: folder, item: item.name, labels: reviewLabels)
        let geometry = maps.source.geometry
        let spacing = geometry.spacing
        // An image that could not be read or does not fit is not named as the source of measures.
        let image = meshed.measured.hasIntensities ? maps.source.image : nil
        let notes = maps.source.shown(maps.notes + meshed.notes + labelNotes)
        let result = ExistingLabelsResult(
            schemaVersion: 1,
            disclaimer: Disclaimer.text,
            task: ExistingLabels.task,
            item: item.name,
            fingerprint: item.fingerprint,
            source: .init(
                kind: maps.source.kind.rawValue,
                name: maps.source.name,
                shape: [geometry.shape.x, geometry.shape.y, geometry.shape.z],
                spacingMm: [spacing.x, spacing.y, spacing.z],
                orientation: geometry.orientationCode,
                intensityUnit: meshed.measured.unit.name,
                affineRas: Array(geometry.affine.rows.prefix(3))
            ),
            image: image.map {
                let suv = meshed.measured.unit.suv.map(SegmentationResult.SUV.init)
                return ExistingLabelsResult.Image(modality: $0.modality ?? "", files: $0.files.count, suv: suv)
            },
            options: options.inResults,
            labels: maps.labels.indices.map(entry),
            regions: options.regions.file.map { _ in meshed.measured.regions.map(SegmentationResult.Region.init) },
            radiomics: meshed.measured.radiomics,
            files: try written.map { try ItemFile($0, in: folder) },
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }

    private var reviewLabels: [ReviewParts.Label] {
        maps.labels.enumerated().map { index, label in
            ReviewParts.Label(
                value: Int(label.value),
                name: label.name,
                color: label.displayColor.description,
                mesh: meshed.meshes[index]?.reviewFile
            )
        }
    }

    /// The first volume has the name that other results have, too; further ones are for labels that overlap.
    private func file(_ place: Int) -> String {
        place == 0 ? "segmentation.nii.gz" : "segmentation-\(place + 1).nii.gz"
    }

    private var labelNotes: [Note] {
        let empty = zip(maps.labels, meshed.measured.measurements).filter { $1.voxelCount == 0 }.map(\.0.name)
        let numbered = maps.labels.filter(\.isNumbered).map(\.name)
        return [
            empty.isEmpty ? nil : Note("labels.empty", "labels without voxels: \(empty.joined(separator: ", "))"),
            numbered.isEmpty
                ? nil
                : Note(
                    "labels.sameName",
                    "labels with the same name have their number behind it: \(listed(numbered, most: 8))"
                ),
        ].compactMap(\.self)
    }

    private func entry(_ index: Int) -> ExistingLabelsResult.Label {
        let label = maps.labels[index]
        let measured = meshed.measured.measurements[index]
        let isPresent = measured.voxelCount > 0
        // A grid made around the labels ends at their bounds.
        let isWhole = maps.source.image != nil || maps.source.kind == .labelMap
        func rounded(_ value: Double) -> Double { value.roundedForResults() }
        return ExistingLabelsResult.Label(
            value: Int(label.value),
            number: label.number,
            name: label.name,
            description: label.description,
            kind: label.kind,
            color: label.color?.description,
            code: label.code,
            file: file(label.volume),
            status: isWhole || !isPresent ? measured.status.rawValue : "present",
            voxelCount: measured.voxelCount,
            volumeMm3: measured.volumeMm3.roundedForResults(scale: measured.volumeMm3),
            volumeMl: measured.volumeMl.roundedForResults(scale: measured.volumeMl),
            intensity: measured.intensity?.rounded,
            centroidRasMm: measured.centroid.map { [rounded($0.x), rounded($0.y), rounded($0.z)] },
            boundingBox: measured.boundingBox.map(SegmentationResult.Box.init),
            touchesBorder: isWhole && isPresent ? measured.touchesBorder : nil,
            components: measured.components,
            largestComponentShare: measured.largestComponentShare.map(rounded),
            mesh: meshed.meshes[index]
        )
    }
}
