import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// Measures an item's labels on its second image.
///
/// The image is measured on its own voxels and is not interpolated: a voxel belongs to the label in which its centre lies.
/// A fault of the image becomes a note of the item, since the item's labels do not depend on it.
struct SecondImageMeasurement {
    private let source: VolumeSource
    private let radiomics: RadiomicsChoice?

    init(_ source: VolumeSource, _ radiomics: RadiomicsChoice?) {
        self.source = source
        self.radiomics = radiomics
    }

    /// Bytes of the image and of the labels on its grid.
    func predictedBytes(threads: Int) -> Int {
        guard let image = source.secondImage?.image else { return 0 }
        return image.geometry.shape.count * (4 + 2) + (image.storedVoxels ?? 0) * 4 + image.decoderBytes * threads
            + max(
                LabelMeasurement.predictedBytes(threads: threads),
                RadiomicsMeasurement.predictedBytes(
                    radiomics,
                    image.geometry,
                    modality: image.modality,
                    threads: threads
                )
            )
    }

    /// - Parameter wanted: the labels to measure.
    /// - Returns: the image, nil where it could not be measured; the labels on it, nil also where it lies outside the label map.
    /// - Throws: ``VolumeError`` for an image that has changed since it was found; `CancelledError`; `AllocationError`, or a
    ///   reader's error if memory cannot be allocated.
    func measure(
        _ labels: LabelVolume,
        _ wanted: [ModelLabel],
        scope: ComputeScope
    ) throws -> (image: SegmentationResult.SecondImage?, labels: [LabelMeasurement]?, notes: [Note]) {
        guard let second = source.secondImage else { return (nil, nil, []) }
        let shown: Sentence = second.name.map { " \(file: IdentifierPolicy.mark($0))" } ?? ""
        func about(_ note: Note) -> Note { note.after("second image\(shown): ") }
        func notMeasured(_ reason: String) -> [Note] {
            [Note("secondImage.notMeasured", "second image\(shown) not measured: \(reason)")]
        }
        guard let image = second.image, let name = second.name else {
            return (nil, nil, notMeasured(second.problem ?? ""))
        }
        let read: LoadedVolume
        let unit: MeasuredUnit
        do {
            read = try VolumeLoader(source: image, path: image.files.first ?? "", scope: scope).load()
            unit = try MeasuredUnit(of: image, scope: scope)
        } catch let error as DICOMReadError where error.code != .tooLarge {
            return (nil, nil, notMeasured(error.detail))
        } catch let error as VolumeFileError where error.code != .outOfMemory {
            return (nil, nil, notMeasured(error.detail))
        }
        var notes = (read.notes + [frameNote(image)].compactMap { $0 } + unit.notes).map(about)
        if let (_, count) = read.nonFinite {
            notes.append(about(Note("volume.notFinite", LoadedVolume.text(notFinite: count) + " and left out")))
        }
        let shownName = source.shownNames.shown(name)
        let placed = try LabelsOnGrid(labels, on: read.channels[0].geometry, scope: scope)
        guard placed.voxelsInside > 0 else {
            notes.append(
                about(
                    Note(
                        "secondImage.outside",
                        "no voxel of it lies in the label map, so nothing is measured"
                    )
                )
            )
            return (SegmentationResult.SecondImage(image, name: shownName, in: unit, radiomics: nil), nil, notes)
        }
        let measurements = try LabelMeasurement.measure(
            labels: placed.labels,
            image: read.channels[0],
            values: wanted.map(\.value),
            scope: scope
        )
        let features = try radiomics.map { choice in
            try RadiomicsMeasurement(settings: choice.settings(modality: image.modality), scale: unit.scale)
                .measures(of: wanted, in: placed.labels, on: read.channels[0], scope: scope)
        }
        return (
            SegmentationResult.SecondImage(image, name: shownName, in: unit, radiomics: features),
            measurements.map { unit.applied(to: $0) }, notes
        )
    }

    /// The note where the headers of two DICOM series state different frames of reference: positions in them need not
    /// agree.
    private func frameNote(_ image: VolumeSource) -> Note? {
        guard let own = frameOfReference(of: source), let other = frameOfReference(of: image), own != other else {
            return nil
        }
        return Note(
            "secondImage.otherFrame",
            "its frame of reference is not that of the item, so positions may not agree; it is measured nevertheless"
        )
    }

    private func frameOfReference(of source: VolumeSource) -> String? {
        guard source.format == .dicom, let path = source.files.first,
            let object = try? DICOMObject.readHeader(path: path), !object.frameOfReferenceUID.isEmpty
        else { return nil }
        return object.frameOfReferenceUID
    }
}
