import NocturneCore
import NocturneJournal
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// `result.json` of a volume that was drawn and measured without a model: a function of the volume and the options. It
/// contains no times and no locations.
struct VolumeViewResult: ItemResult {
    /// The percentiles that are measured, besides the median.
    static let percents = [0.5, 1, 5, 25, 75, 95, 99, 99.5]

    /// The intensities that the pictures show as black and as white, in the unit of measured intensities.
    struct Window: Codable {
        let lower: Double
        let upper: Double

        /// - Parameter scale: from the image's values to the unit.
        init(_ range: (lower: Double, upper: Double), scale: Double) {
            let (lower, upper) = (range.lower * scale, range.upper * scale)
            let largest = max(abs(lower), abs(upper))
            self.lower = lower.roundedForResults(scale: largest)
            self.upper = upper.roundedForResults(scale: largest)
        }
    }

    let schemaVersion: Int
    let disclaimer: String
    let task: String
    let item: String
    let fingerprint: String
    let source: SegmentationResult.Source
    let options: [String: String]
    /// The voxels that are neither NaN nor infinite, of which the intensity is.
    let finiteVoxels: Int
    /// Of the whole volume; null without a finite voxel.
    @Nullable var intensity: IntensitySummary?
    /// Of the whole volume, in the unit of measured intensities; empty without a finite voxel.
    let percentiles: [VolumeIntensities.Percentile]
    let window: Window
    /// The regions that apply to this item.
    let regions: [SegmentationResult.Region]
    let files: [ItemFile]
    var notes: [String]
    var noteCodes: [Note.Code]?

    /// Rows for the batch's statistics table.
    var statistics: [Statistic] {
        let (unit, image) = (source.intensityUnit, "image")
        return source.timeRows + ImageUnit.spacingRows(source.spacingMm)
            + IntensitySummary.statistics(intensity, of: image, in: unit)
            + percentiles.map { row in
                let percent = row.percent == row.percent.rounded() ? "\(Int(row.percent))" : "\(row.percent)"
                return Statistic(
                    label: image,
                    measure: "intensityPercentile\(percent)",
                    value: row.value,
                    unit: unit
                )
            }
            + regions.flatMap { $0.statistics(intensityUnit: unit) }
    }

    /// The intensities in one line: `mean -512.3 HU, -1024 to 3071`.
    var facts: String? {
        guard let intensity else { return nil }
        let unit = source.intensityUnit == ImageUnit.unknown ? "" : " " + source.intensityUnit
        func figure(_ value: Double) -> String { RegionCaption.figure(value) }
        return "mean \(figure(intensity.mean))\(unit), \(figure(intensity.minimum)) to \(figure(intensity.maximum))"
    }
}

extension VolumeViewResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        _ = inspection.geometry(of: source)
        try inspection.inspectPictures()
    }
}
