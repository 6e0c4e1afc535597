import NocturneBatch
import NocturneJournal
import NocturneRecipeSupport

/// A label of a map with its measurements, from a model or from an existing object.
protocol MeasuredLabel {
    var name: String { get }
    var voxelCount: Int { get }
    var volumeMl: Double? { get }
    var intensity: SegmentationResult.Intensity? { get }
    var centroidRasMm: [Double]? { get }
    /// Whether it touches the border of the volume; nil if that has no meaning.
    var cutByBorder: Bool? { get }
    /// Connected components; nil in results that do not have them.
    var components: Int? { get }
    var largestComponentShare: Double? { get }
}

extension MeasuredLabel {
    private var parts: [Statistic] {
        guard let components else { return [] }
        return [
            Statistic(label: name, measure: "components", value: Double(components), unit: "1"),
            Statistic(label: name, measure: "largestComponentShare", value: largestComponentShare, unit: "1"),
        ]
    }

    /// Its rows in the batch's statistics table.
    var statistics: [Statistic] {
        func row(_ measure: String, _ value: Double?, _ unit: String) -> Statistic {
            Statistic(label: name, measure: measure, value: value, unit: unit)
        }
        return [
            row("voxelCount", Double(voxelCount), "1"),
            row("volume", volumeMl, "ml"),
            row("centroidRasX", centroidRasMm?[0], "mm"),
            row("centroidRasY", centroidRasMm?[1], "mm"),
            row("centroidRasZ", centroidRasMm?[2], "mm"),
            row("touchesBorder", cutByBorder.map { $0 ? 1 : 0 }, "1"),
        ] + parts + SegmentationResult.Intensity.statistics(intensity, of: name)
    }
}

extension SegmentationResult.Intensity {
    /// Rows for `name`: five measures, the edges of the histogram, and one row per bin, numbered from 1.
    static func statistics(_ intensity: SegmentationResult.Intensity?, of name: String) -> [Statistic] {
        func row(_ measure: String, _ value: Double?, _ unit: String = "stored unit") -> Statistic {
            Statistic(label: name, measure: measure, value: value, unit: unit)
        }
        let histogram = intensity?.histogram
        return [
            row("intensityMean", intensity?.mean),
            row("intensityStandardDeviation", intensity?.standardDeviation),
            row("intensityMinimum", intensity?.minimum),
            row("intensityMaximum", intensity?.maximum),
            row("intensityMedian", intensity?.median),
            row("histogramLower", histogram?.lower),
            row("histogramUpper", histogram?.upper),
        ] + (histogram?.counts ?? []).enumerated().map { row("histogramCount\($0 + 1)", Double($1), "1") }
    }
}
