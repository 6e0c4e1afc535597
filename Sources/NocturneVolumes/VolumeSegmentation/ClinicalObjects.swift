import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneMesh
import NocturneOutput
import NocturnePostprocess
import NocturneSystem

/// Writes a label map as DICOM objects for clinical systems, if the source is DICOM.
struct ClinicalObjects {
    let options: SegmentationOptions
    let package: ModelPackage
    /// The labels selected by the package and the options.
    let labels: [ModelLabel]
    let source: VolumeSource
    let volume: LabelVolume
    let item: RecipeItem

    static let segmentationFile = "segmentation.dcm"
    static let structureSetFile = "rtstruct.dcm"

    /// The files written, and why others were not.
    struct Written {
        var files: [String] = []
        var notes: [Note] = []
    }

    /// Notes what an object cannot represent; throws system errors.
    func write(into folder: String, scope: ComputeScope) throws -> Written {
        var written = Written()
        guard options.writesSegmentationObject || options.writesStructureSet else { return written }
        guard source.format == .dicom else {
            let objects = [
                options.writesSegmentationObject ? "segmentation" : nil,
                options.writesStructureSet ? "structure set" : nil,
            ].compactMap(\.self).joined(separator: " or ")
            written.notes.append(
                Note(
                    "output.sourceNotDICOM",
                    "no DICOM \(own: objects) was written, because the input is not DICOM"
                )
            )
            return written
        }
        // Objects refer to images of the source, so every slice of the map has to lie on one of them.
        guard !source.isCorrected, slices.count == volume.geometry.shape.z else {
            written.notes.append(missing("the voxels do not lie on the source images"))
            return written
        }
        // A mosaic holds several slices in one image, whose name is then there more than once.
        guard Set(slices).count == slices.count else {
            written.notes.append(missing("the source images are mosaics of slices"))
            return written
        }
        if options.writesSegmentationObject {
            try attempt(Self.segmentationFile, &written) {
                try writeSegmentation(to: folder + "/" + Self.segmentationFile, scope: scope)
            }
        }
        if options.writesStructureSet {
            try attempt(Self.structureSetFile, &written) {
                try writeStructureSet(to: folder + "/" + Self.structureSetFile, scope: scope)
            }
        }
        if !written.files.isEmpty { written.notes += try ambiguousReferences(scope.flag) }
        if !written.files.isEmpty, source.identifiers == IdentifierPolicy.none {
            written.notes.append(
                Note(
                    "output.objectsNamePatient",
                    "the DICOM objects name patient and study as the source does: they belong to its study, so "
                        + "--identifiers none does not apply to them"
                )
            )
        }
        return written
    }

    /// That source images share a SOPInstanceUID, by which the objects refer to them. Reads the headers of the sources.
    private func ambiguousReferences(_ flag: CancellationFlag) throws(CancelledError) -> [Note] {
        let paths = Set(slices.map(\.path))
        guard paths.count > 1 else { return [] }
        var counts: [String: Int] = [:]
        for path in paths {
            try flag.check()
            if let header = try? DICOMObject.readHeader(path: path) { counts[header.sopInstanceUID, default: 0] += 1 }
        }
        let shared = counts.values.filter { $0 > 1 }.reduce(0, +)
        guard shared > 0 else { return [] }
        let text: Sentence =
            "\(shared) of \(paths.count) source images have a SOPInstanceUID (0008,0018) that others have too, by which "
            + "the DICOM objects refer to them: a viewer may show labels on the wrong image; export the series with a "
            + "UID for each image"
        return [Note("output.ambiguousReferences", text)]
    }

    /// - Parameter body: returns whether there was anything to write.
    private func attempt(_ file: String, _ written: inout Written, _ body: () throws -> Bool) throws {
        do {
            if try body() {
                written.files.append(file)
            } else {
                written.notes.append(Note("output.noLabel", "\(own: file) was not written, because no label was found"))
            }
        } catch let error as DICOMWriteError where Self.isNote(error.code) {
            // What the object cannot represent is a property of the input: the other results of the item are kept.
            written.notes.append(.missing(file, because: "\(error.detail)"))
        }
    }

    /// What no object could be made for.
    private func missing(_ reason: Sentence) -> Note {
        let files = [
            options.writesSegmentationObject ? Self.segmentationFile : nil,
            options.writesStructureSet ? Self.structureSetFile : nil,
        ]
        return .missing(files.compactMap(\.self).joined(separator: ", "), because: reason)
    }

    private static func isNote(_ code: DICOMWriteErrorCode) -> Bool {
        [.missingElement, .sourcesDiffer, .gridDiffers, .tooLarge].contains(code)
    }

    private var slices: [DICOMSlice.Name] { source.sliceNames ?? [] }

    /// That of the item; the digest of the text where it is not a digest in hex.
    private var fingerprint: ContentDigest {
        ContentDigest(hex: item.fingerprint) ?? ContentDigest.of(item.fingerprint)
    }

    /// - Parameter kind: what the series has, for its description.
    private func maker(_ kind: String) -> DICOMObjectOrigin.Maker {
        let algorithm = "\(package.name) \(package.version)"
        return DICOMObjectOrigin.Maker(
            software: item.version.isEmpty ? "Nocturne" : "Nocturne \(item.version)",
            algorithm: algorithm,
            description: "\(kind): \(algorithm)",
            isEdited: item.edit != nil
        )
    }

    private func writeSegmentation(to path: String, scope: ComputeScope) throws -> Bool {
        let segments = labels.map { label in
            DICOMSegmentation.LabelSegment(
                value: label.value,
                label: label.name,
                color: label.color,
                type: label.code ?? .uncoded(label.title ?? label.name)
            )
        }
        let values = try DICOMSegmentation.write(
            volume,
            segments: segments,
            from: DICOMObjectOrigin(sources: slices, maker: maker("Segmentation"), fingerprint: fingerprint),
            to: path,
            within: VolumeMemory.objectBytes(volume.geometry.shape),
            scope: scope
        )
        return !values.isEmpty
    }

    private func writeStructureSet(to path: String, scope: ComputeScope) throws -> Bool {
        // A contour vertex borders at least one face between voxels; the faces are counted before contours are traced.
        let forecast = try SurfaceForecast(of: volume, scope: scope)
        // The forecast first: tracing itself would take the memory that is not there.
        try check(bytes: labels.reduce(0) { $0 + forecast.vertexCount(of: $1.value) } * Self.bytesPerVertex, path)
        let contours = try SliceContour.contours(of: labels.map(\.value), in: volume, scope: scope)
        try check(
            bytes: contours.joined().reduce(0) { $0 + $1.points.count * Self.bytesPerVertex + Self.bytesPerContour },
            path
        )
        let regions = zip(labels, contours).map { label, contours in
            DICOMStructureSet.ContouredRegion(
                name: label.name,
                color: label.color,
                code: label.code,
                contours: contours
            )
        }
        return try DICOMStructureSet.write(
            regions,
            geometry: volume.geometry,
            from: DICOMObjectOrigin(sources: slices, maker: maker("Contours"), fingerprint: fingerprint),
            to: path,
            flag: scope.flag
        )
    }

    /// - Throws: `DICOMWriteError` with `tooLarge`, which becomes a note.
    private func check(bytes: Int, _ path: String) throws {
        guard bytes <= VolumeMemory.objectBytes(volume.geometry.shape) else {
            throw DICOMWriteError(
                .tooLarge,
                path: path,
                "the contours take up to \(bytes) bytes, more than the planned memory"
            )
        }
    }

    /// Bytes of a vertex: as traced, as passed on, and as text in the object.
    private static let bytesPerVertex = 100
    /// Bytes of a contour's elements, while written and while read back.
    private static let bytesPerContour = 6144
}
