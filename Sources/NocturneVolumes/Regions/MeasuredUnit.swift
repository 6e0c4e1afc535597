import NocturneConcurrency
import NocturneFormats
import NocturneJournal
import NocturnePostprocess
import NocturneSystem

/// In which units images are measured.
enum ImageUnit {
    /// Of intensities of images other than PET: Hounsfield units where the header states that the image is a CT with such
    /// values, otherwise whatever the values of the image mean after the header's scaling. For PET see ``MeasuredUnit``.
    static func name(of image: VolumeSource?) -> String { image?.isHounsfield == true ? "HU" : unknown }

    /// Where a header does not state it.
    static let unknown = "image value"
    /// Of standardized uptake values.
    static let suv = "g/ml"
    /// Of activity concentrations, of which there is no standardized uptake value.
    static let activity = "Bq/ml"

    /// The spacing of the voxels as rows of the image itself, along its first, second and third axis.
    static func spacingRows(_ spacing: [Double]) -> [Statistic] {
        zip(["spacingI", "spacingJ", "spacingK"], spacing).map {
            Statistic(label: "image", measure: $0, value: ($1 * 1e6).rounded() / 1e6, unit: "mm")
        }
    }
}

/// The unit in which intensities of an image are given, and the factor from the image's values to it.
struct MeasuredUnit: Sendable {
    let name: String
    /// Of a PET image whose header contains enough.
    var suv: SUVFactor?
    /// Why values of a PET image are not given as SUV.
    var notes: [Note] = []

    /// Of an image other than PET; nil for none.
    init(_ image: VolumeSource?) { name = ImageUnit.name(of: image) }

    private init(_ name: String, _ suv: SUVFactor?, _ notes: [Note]) {
        self.name = name
        self.suv = suv
        self.notes = notes
    }

    /// Reads the headers of a PET series again. Of other images the modality and the type of their values count.
    /// - Throws: `CancelledError`; `DICOMReadError` for a header that can no longer be read.
    init(of image: VolumeSource, scope: ComputeScope) throws {
        guard image.format == .dicom, image.modality == "PT" else {
            self.init(image)
            return
        }
        let header = try PETHeader(paths: image.files, secondsIntoScan: image.secondsIntoScan, scope: scope)
        switch Result(catching: { () throws(SUVFactor.Refusal) in try SUVFactor(header) }) {
        case .success(let factor): self.init(ImageUnit.suv, factor, header.notes)
        case .failure(let refusal):
            // Discovery refuses series whose slices have other units than the first one.
            let isActivity = header.units == "BQML"
            let meaning = isActivity ? "in Bq/ml" : "as stored"
            let note = Note("pet.noSUV", "no SUV, intensities are \(own: meaning): \(refusal)")
            self.init(isActivity ? ImageUnit.activity : ImageUnit.unknown, nil, [note])
        }
    }

    /// From the image's values to this unit.
    var scale: Double { suv?.value ?? 1 }

    /// The unit for a person; nil where it is not known.
    var shown: String? { name == ImageUnit.unknown ? nil : name }

    /// An intensity of the image in this unit.
    func applied(to summary: IntensitySummary) -> IntensitySummary {
        guard let factor = suv?.value else { return summary }
        let scale = max(abs(summary.minimum), abs(summary.maximum)) * factor
        func scaled(_ value: Double) -> Double { (value * factor).roundedForResults(scale: scale) }
        var summary = summary
        summary.mean = scaled(summary.mean)
        summary.standardDeviation = scaled(summary.standardDeviation)
        summary.minimum = scaled(summary.minimum)
        summary.maximum = scaled(summary.maximum)
        summary.median = scaled(summary.median)
        summary.histogram.lower = scaled(summary.histogram.lower)
        summary.histogram.upper = scaled(summary.histogram.upper)
        return summary
    }

    func applied(to intensities: VolumeIntensities) -> VolumeIntensities {
        guard suv != nil else { return intensities }
        var intensities = intensities
        intensities.summary = applied(to: intensities.summary)
        for place in intensities.percentiles.indices {
            let value = intensities.percentiles[place].value * scale
            intensities.percentiles[place].value = value.roundedForResults(scale: abs(value))
        }
        return intensities
    }

    func applied(to measurement: LabelMeasurement) -> LabelMeasurement {
        var measurement = measurement
        measurement.intensity = measurement.intensity.map { applied(to: $0) }
        return measurement
    }

    func applied(to regions: MeasuredRegions) -> MeasuredRegions {
        var regions = regions
        for place in regions.regions.indices {
            regions.regions[place].1.intensity = regions.regions[place].1.intensity.map { applied(to: $0) }
        }
        return regions
    }
}
