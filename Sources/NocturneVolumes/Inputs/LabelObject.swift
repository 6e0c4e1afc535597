import NocturneFormats

/// A file that holds labels instead of an image.
struct LabelObject: Hashable {
    /// Limits for reading an object.
    static let limits = DICOMObjectLimits(segments: 4096, contours: 1 << 18, points: 1 << 24, voxels: 1 << 29)

    enum Kind: String, Codable, Sendable {
        case segmentation, structureSet
        /// A NIfTI file.
        case labelMap

        init?(sopClassUID: String) {
            switch sopClassUID {
            case "1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7": self = .segmentation
            case "1.2.840.10008.5.1.4.1.1.481.3": self = .structureSet
            default: return nil
            }
        }

        var title: String {
            switch self {
            case .segmentation: "a DICOM segmentation"
            case .structureSet: "a DICOM structure set"
            case .labelMap: "a NIfTI label map"
            }
        }

        /// Why a recipe that reads images skips it.
        var skipReason: String { title + "; use --existing-labels to process it" }
    }

    let path: String
    let kind: Kind

    /// The label objects of a series that is not a volume. Headers of files without recognized slices are read again.
    static func objects(of series: DICOMSeries) -> [LabelObject] {
        guard series.problem != nil else { return [] }
        let classes = Dictionary(series.slices.map { ($0.object.path, $0.object.sopClassUID) }) { first, _ in first }
        return series.files.compactMap { path in
            let name = classes[path] ?? (try? DICOMObject.readHeader(path: path))?.sopClassUID
            return name.flatMap(Kind.init(sopClassUID:)).map { LabelObject(path: path, kind: $0) }
        }
    }

}
