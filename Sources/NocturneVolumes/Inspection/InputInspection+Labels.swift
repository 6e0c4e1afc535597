import NocturneConcurrency
import NocturneCore
import NocturneFormats
package import NocturneSystem

/// Segmentations and structure sets in the output of `nocturne inspect`.
extension InputInspection {
    /// A segment or region.
    package struct Label: Codable, Sendable {
        /// Of the segment or region in its object.
        package let number: Int
        /// As the object states it.
        package let name: String
        /// `#rrggbb`; nil where the object states none.
        @Nullable package var color: String?
        /// Scheme, value and meaning.
        @Nullable package var code: String?
        /// For regions only.
        @Nullable package var contours: Int?
    }

    /// - Throws: `CancelledError`.
    func entry(_ object: LabelObject, of series: DICOMSeries, among all: [DICOMSeries]) throws -> Entry {
        do {
            switch object.kind {
            case .segmentation: return try segmentation(object.path, series, all)
            case .structureSet: return try structureSet(object.path, series, all)
            case .labelMap: return labelEntry(object, series, problem: "not a DICOM object")
            }
        } catch let error as DICOMReadError {
            return labelEntry(object, series, problem: error.detail)
        }
    }

    private func segmentation(
        _ path: String,
        _ series: DICOMSeries,
        _ all: [DICOMSeries]
    ) throws -> Entry {
        let sources = SourceImages(all)
        let header: DICOMSegmentation.Header
        do throws(DICOMReadError) {
            header = try DICOMSegmentation.readHeader(path: path, limits: LabelObject.limits)
        } catch {
            // An object that cannot be read by itself may be readable on the grid of an image. Else the error stays.
            let fitting = try sources.candidates(ofSegmentation: path, flag: scope.flag).fitting
            guard let found = fitting.first else { throw error }
            header = found.header
        }
        let labels = header.segments.map {
            Label(
                number: Int($0.number),
                name: $0.label,
                color: $0.color?.description,
                code: $0.type.map { "\($0.scheme) \($0.value) (\($0.meaning))" },
                contours: nil
            )
        }
        let kind =
            switch header.kind {
            case .binary: "binary"
            case .fractional: "fractional"
            case .labelMap: "label map"
            }
        let images = sources.candidates(
            series: header.referencedSeriesUID,
            images: Set(header.referencedImages),
            frameOfReference: header.frameOfReferenceUID
        )
        var entry = labelEntry(LabelObject(path: path, kind: .segmentation), series, header.geometry, labels)
        entry.details = ["\(kind), \(counted(labels.count, "segment"))"] + labels.map(text)
        entry.notes =
            [reference(header.referencedSeriesUID, images)] + (images.substitution.map { [$0.description] } ?? [])
        return entry
    }

    private func structureSet(
        _ path: String,
        _ series: DICOMSeries,
        _ all: [DICOMSeries]
    ) throws -> Entry {
        var set = try DICOMStructureSet.read(path: path, limits: LabelObject.limits, flag: scope.flag)
        let labels = set.regions.map {
            Label(
                number: $0.number,
                name: $0.name,
                color: $0.color?.description,
                code: $0.code.map { "\($0.scheme) \($0.value) (\($0.meaning))" },
                contours: $0.contours.count
            )
        }
        let sources = SourceImages(all)
        let drawn = set.images
        let images = sources.candidates(
            series: set.referencedSeriesUID,
            images: drawn,
            frameOfReference: set.frameOfReferenceUID
        )
        let frame = images.series.first?.slices.first?.object.frameOfReferenceUID ?? ""
        let frameNote = set.keepRegions(inFrameOfReference: frame)
        var notes = [frameNote].compactMap(\.self) + set.notes
        // Only for the series that the object names: of another one in its frame of reference it lists no images.
        if let found = images.series.first, images.isNamed {
            notes += [sources.missing(drawn, besides: found)].compactMap(\.self)
        }
        if let substitution = images.substitution { notes.append(substitution) }
        var entry = labelEntry(LabelObject(path: path, kind: .structureSet), series, nil, labels)
        entry.details = [counted(labels.count, "region")] + labels.map(text)
        entry.notes = [reference(set.referencedSeriesUID, images)] + notes.texts
        return entry
    }

    /// One line of the details: number, name, colour, code and contours, as far as the object states them.
    private func text(_ label: Label) -> String {
        let parts = [
            label.name.isEmpty ? "without a name" : label.name, label.color, label.code,
            label.contours.map { counted($0, "contour") },
        ]
        return "\(label.number): " + parts.compactMap { $0 }.joined(separator: ", ")
    }

    /// To which images the object refers, and how they were found.
    /// - Parameter uid: of the series that it names; empty for none.
    private func reference(_ uid: String, _ images: SourceImages.Candidates) -> String {
        if let found = images.series.first, let path = found.files.min() {
            return (images.isNamed ? "of the series of " : "in the frame of reference of the series of ") + path
        }
        // A structure set may name the images of a series, and not the series.
        if images.refused != nil {
            let series = uid.isEmpty ? "of a series that" : "of series \(uid), which"
            return series + " is in the inputs, but does not form a volume"
        }
        return uid.isEmpty ? "refers to no series in the inputs" : "of series \(uid), which is not in the inputs"
    }

    private func labelEntry(
        _ object: LabelObject,
        _ series: DICOMSeries,
        _ geometry: VolumeGeometry? = nil,
        _ labels: [Label] = [],
        problem: String? = nil
    ) -> Entry {
        let format = object.kind == .segmentation ? "DICOM segmentation" : "DICOM structure set"
        var entry = described(object.path, format, geometry, [])
        entry.modality = series.modality
        entry.problem = problem
        entry.seriesInstanceUid = series.seriesInstanceUID
        entry.labels = labels
        return entry
    }
}
