import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
package import NocturneInference
import NocturneJournal
import NocturneNumerics
import NocturneOutput
package import NocturnePostprocess
import NocturneRecipeSupport
import NocturneReport
package import NocturneSystem

/// Writes the result files of a segmented volume.
struct SegmentationWriter {
    let model: SegmentationModel
    let options: SegmentationOptions
    let labels: [ModelLabel]
    let meshed: VolumeSegmentation.MeshedVolume
    let item: RecipeItem

    private var finished: VolumeSegmentation.FinishedVolume { meshed.finished }
    private var measures: VolumeSegmentation.Measures { finished.measures }

    static let labelFile = "segmentation.nii.gz"
    static let tiffFile = "segmentation.tif"
    static let tiffSpacingFile = "segmentation.json"

    /// Writes the files but for those of surfaces and probabilities, which the result's labels name.
    /// - Returns: their names in the folder, and notes.
    private func writeFiles(into folder: String, scope: ComputeScope) throws -> (files: [String], notes: [Note]) {
        var written = [Self.labelFile]
        try writeLabels(to: folder + "/" + Self.labelFile, scope: scope)
        if let edit = item.edit {
            // The model's own map stays available, for comparison and for taking the edit back.
            try FileSystem.copy(edit.labels.original, to: folder + "/" + EditedLabelMap.originalFile)
            written.append(EditedLabelMap.originalFile)
        }
        written += try writeTIFF(into: folder, scope: scope)
        let clinical = try ClinicalObjects(
            options: options,
            package: model.package,
            labels: labels,
            source: finished.source,
            volume: finished.labels,
            item: item
        ).write(into: folder, scope: scope)
        written += clinical.files
        written += try finished.pictures.move(into: folder)
        return (written, clinical.notes)
    }

    /// Writes all files and, as the last one, `result.json` with their sizes and digests.
    /// - Throws: `FileSystemError`, `AllocationError`, `CancelledError`; errors of the formats.
    func write(into folder: String, _ context: StageContext) throws -> ItemProduct {
        let scope = context.scope
        let first = try writeFiles(into: folder, scope: scope)
        var written = first.files
        written += try SurfaceWriter.move(meshed.meshes.values, from: context, into: folder)
        let probabilities = try writeProbabilities(into: folder, scope: scope)
        written += probabilities.values.sorted()
        written += try finished.pictures.writeReview(into: folder, item: item.name, labels: reviewLabels)
        // After everything is written: files are read again for their digests.
        let files = try written.map { try ItemFile($0, in: folder) }
        let notes = finished.source.shown(ownNotes + first.notes)
        let result = SegmentationResult(
            schemaVersion: 1,
            disclaimer: Disclaimer.marked(isDemonstration: model.package.isDemonstration),
            item: item.name,
            fingerprint: item.fingerprint,
            labelsFingerprint: item.edit == nil ? finished.source.labelsFingerprint : nil,
            source: SegmentationResult.Source(finished.source, unit: measures.unit),
            model: ResultModel(model.package),
            engine: finished.engine,
            options: options.inResults(of: finished.source),
            edited: edited,
            labels: labels.map {
                entry(for: $0, mesh: meshed.meshes[$0.value], probabilityFile: probabilities[$0.value])
            },
            regions: measures.regions.measurements.map(SegmentationResult.Region.init),
            comparison: measures.comparison,
            secondImage: measures.secondImage,
            radiomics: measures.radiomics,
            files: files,
            notes: notes.texts,
            noteCodes: notes.codes
        )
        return try result.write(into: folder, notes)
    }

    private var edited: SegmentationResult.Edit? {
        item.edit.map { edit in
            SegmentationResult.Edit(
                // Words of patients are known for the names of inputs only: a person's file may have others.
                file: finished.source.shownNames.policy == .keep ? edit.file : (edit.map as NSString).lastPathComponent,
                sha256: edit.sha256,
                original: EditedLabelMap.originalFile
            )
        }
    }

    private var reviewLabels: [ReviewParts.Label] {
        labels.map { label in
            ReviewParts.Label(
                value: Int(label.value),
                name: label.name,
                color: label.color.description,
                mesh: meshed.meshes[label.value]?.reviewFile
            )
        }
    }

    // MARK: Files

    private func writeLabels(to path: String, scope: ComputeScope) throws {
        let names = labels.map { NIfTIWriter.Label(value: $0.value, name: $0.name, color: $0.color) }
        try NIfTIWriter.writeLabels(finished.labels, names: names, forms: try forms(), to: path, scope: scope)
    }

    /// Labels and spacing as nnU-Net's `Tiff3DIO` writes them, of a TIFF.
    /// - Returns: the files.
    private func writeTIFF(into folder: String, scope: ComputeScope) throws -> [String] {
        guard finished.source.format == .tiff else { return [] }
        try TIFFLabelWriter.write(finished.labels, to: folder + "/" + Self.tiffFile, scope: scope)
        let spacing = TIFFSpacing.document(finished.source.spacing)
        try FileSystem.write(folder + "/" + Self.tiffSpacingFile, spacing)
        return [Self.tiffFile, Self.tiffSpacingFile]
    }

    /// Those of a volume file.
    private func forms() throws -> NIfTIForms? {
        // A DICOM series or a TIFF has no header from which they could be made.
        guard finished.source.format.isVolumeFile else { return nil }
        return NIfTIForms(
            of: try VolumeFileReader.readHeader(
                at: finished.source.files[0],
                // Discovery has accepted the file already: what it needed options for is not asked again.
                assumesOrientation: true,
                acceptsTimeSeries: true
            )
        )
    }

    /// - Returns: the files, by label; empty where none were asked for.
    private func writeProbabilities(into folder: String, scope: ComputeScope) throws -> [UInt16: String] {
        guard options.writesProbabilities, item.edit == nil else { return [:] }
        try FileSystem.makeFolder(folder + "/" + ProbabilityMaps.folder)
        let (geometry, forms) = (finished.labels.geometry, try forms())
        var files: [UInt16: String] = [:]
        for label in labels {
            let file = ProbabilityMaps.file(label)
            // No network has run, so the maps are those of the earlier result.
            if let earlier = finished.earlier {
                try earlier.copy(file, to: folder + "/" + file)
            } else if let maps = finished.probabilities {
                let map = try maps.map(of: label.value, stored: geometry.shape, scope: scope)
                try NIfTIWriter.writeProbabilities(
                    LabelVolume(geometry: geometry, voxels: map),
                    forms: forms,
                    to: folder + "/" + file,
                    scope: scope
                )
            }
            files[label.value] = file
        }
        return files
    }

    // MARK: The result

    private func measurement(of label: ModelLabel) -> LabelMeasurement? {
        measures.labels.first { $0.value == label.value }
    }

    private func entry(
        for label: ModelLabel,
        mesh: SegmentationResult.Mesh?,
        probabilityFile: String?
    ) -> SegmentationResult.Label {
        let measured = measurement(of: label)
        let (volume, millilitres) = (measured?.volumeMm3 ?? 0, measured?.volumeMl ?? 0)
        return SegmentationResult.Label(
            value: Int(label.value),
            name: label.name,
            title: label.title,
            color: label.color.description,
            code: label.code,
            status: measured?.status.rawValue ?? LabelMeasurement.Status.absent.rawValue,
            voxelCount: measured?.voxelCount ?? 0,
            volumeMm3: volume.roundedForResults(scale: volume),
            volumeMl: millilitres.roundedForResults(scale: millilitres),
            intensity: measured?.intensity?.rounded,
            centroidRasMm: measured?.centroid.map {
                [$0.x.roundedForResults(), $0.y.roundedForResults(), $0.z.roundedForResults()]
            },
            boundingBox: measured?.boundingBox.map(SegmentationResult.Box.init),
            touchesBorder: measured?.touchesBorder ?? false,
            components: measured?.components,
            largestComponentShare: measured?.largestComponentShare?.roundedForResults(),
            confidence: (measured?.voxelCount ?? 0) > 0 ? finished.confidence[label.value]?.inMillionths : nil,
            probabilityFile: probabilityFile,
            cleaning: finished.cleaning.first { $0.value == label.value },
            mesh: mesh,
            secondImage: measures.secondImage.map { _ in
                .init(measures.secondImageLabels?.first { $0.value == label.value })
            }
        )
    }

    private var ownNotes: [Note] {
        var notes = finished.notes + meshed.notes
        if let edited {
            let detail: Sentence = "the labels were edited by a person; the model's are in \(own: edited.original)"
            notes.insert(Note("labels.edited", detail), at: 0)
            if options.writesProbabilities {
                notes.insert(
                    Note(
                        "labels.noProbabilities",
                        "no maps of probabilities, since no network has decided on these labels"
                    ),
                    at: 1
                )
            }
        }
        // Labels that the model expects in every image are listed apart: their absence is more often a fault.
        let absent = labels.filter { measurement(of: $0)?.voxelCount == 0 }
        let missing = absent.filter(\.isExpected).map(\.name)
        if !missing.isEmpty {
            notes.append(
                Note(
                    "labels.expectedNotFound",
                    "not found, but the model expects it in every image: \(own: missing.joined(separator: ", "))"
                )
            )
        }
        let others = absent.filter { !$0.isExpected }.map(\.name)
        if !others.isEmpty { notes.append(.notFound(others)) }
        notes += Note.swappedSides(measures.labels, labels)
        let cut = labels.filter { measurement(of: $0)?.touchesBorder == true }
        if !cut.isEmpty {
            notes.append(
                Note(
                    "labels.touchBorder",
                    "touches the border of the volume, only the visible part is measured: "
                        + "\(own: cut.map(\.name).joined(separator: ", "))"
                )
            )
        }
        return notes
    }
}

extension Note {
    /// For each label on the left whose centroid lies to the right of its counterpart's: an image or a label map that is mirrored.
    /// - Parameter labels: by whose names sides and counterparts are known.
    package static func swappedSides(_ measurements: [LabelMeasurement], _ labels: [ModelLabel]) -> [Note] {
        func centroid(_ name: String) -> SIMD3<Double>? {
            let value = labels.first { $0.name == name }?.value
            return measurements.first { $0.value == value }?.centroid
        }
        return labels.compactMap { label in
            guard let other = BatchMeasure.Derived.counterpart(of: label.name), let left = centroid(label.name),
                let right = centroid(other), left.x > right.x
            else { return nil }
            return Note(
                "labels.sidesSwapped",
                "\(own: label.name) lies on the right of \(own: other): left and right are swapped in the image or in the labels"
            )
        }
    }
}
