import NocturneJournal
import NocturneNumerics
import NocturnePostprocess
import NocturneReport
import NocturneSystem

/// A label of a map with its measurements, from a model or from an existing object.
protocol MeasuredLabel {
    var name: String { get }
    var voxelCount: Int { get }
    /// Nil where it was not measured.
    var volumeMl: Double? { get }
    /// Nil where it was not measured, such as without an image.
    var intensity: IntensitySummary? { get }
    /// The mean of the positions of its voxels; nil where it was not measured.
    var centroidRasMm: [Double]? { get }
    /// Whether it touches the border of the volume; nil if that has no meaning.
    var cutByBorder: Bool? { get }
    /// Connected components; nil in results that do not have them.
    var components: Int? { get }
    /// From 0 to 1; nil where ``components`` is.
    var largestComponentShare: Double? { get }
    /// Of the networks that decided; nil for labels from elsewhere.
    var confidence: LabelConfidence? { get }
}

extension MeasuredLabel {
    private var parts: [Statistic] {
        guard let components else { return [] }
        return [
            Statistic(label: name, measure: "components", value: Double(components), unit: "1"),
            Statistic(label: name, measure: "largestComponentShare", value: largestComponentShare, unit: "1"),
        ]
    }

    private var certainty: [Statistic] {
        guard let confidence else { return [] }
        let agreement = confidence.passAgreement.map {
            Statistic(label: name, measure: "passAgreement", value: $0, unit: "1")
        }
        return [
            Statistic(label: name, measure: "meanProbability", value: confidence.meanProbability, unit: "1"),
            Statistic(
                label: name,
                measure: "uncertainBoundaryShare",
                value: confidence.uncertainBoundaryShare,
                unit: "1"
            ),
        ] + [agreement].compactMap(\.self)
    }

    /// Its rows in the batch's statistics table.
    func statistics(intensityUnit: String) -> [Statistic] {
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
        ] + parts + certainty + IntensitySummary.statistics(intensity, of: name, in: intensityUnit)
    }
}

extension IntensitySummary {
    /// Rows for `name`: five measures, the edges of the histogram, and one row per bin, numbered from 1.
    /// - Parameter unit: of the intensities.
    static func statistics(
        _ intensity: IntensitySummary?,
        of name: String,
        in unit: String
    ) -> [Statistic] {
        func row(_ measure: String, _ value: Double?, _ rowUnit: String? = nil) -> Statistic {
            Statistic(label: name, measure: measure, value: value, unit: rowUnit ?? unit)
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

extension SegmentationResult.Source {
    /// When the volume was taken, as rows of the image itself; none for a file with one volume.
    var timeRows: [Statistic] {
        guard let timePoint else { return [] }
        return [
            Statistic(label: "image", measure: TimeTable.timePoint, value: Double(timePoint.index), unit: "1"),
            Statistic(label: "image", measure: TimeTable.time, value: timePoint.seconds, unit: "s"),
        ]
    }
}

/// The labels of a result in lists.
enum LabelFacts {
    /// How many labels there are, and the volumes of the largest two: `5 of 5 labels: liver 1510 ml, spleen 214 ml`.
    static func text(_ labels: [(name: String, voxelCount: Int, volumeMl: Double?)]) -> String? {
        guard !labels.isEmpty else { return nil }
        let present = labels.filter { $0.voxelCount > 0 }
        let largest = present.sorted { ($1.volumeMl ?? 0, $0.name) < ($0.volumeMl ?? 0, $1.name) }.prefix(2)
        let volumes = largest.compactMap { label in
            label.volumeMl.map { "\(label.name) \(rounded($0)) ml" }
        }
        let count = "\(present.count) of \(counted(labels.count, "label"))"
        return volumes.isEmpty ? count : count + ": " + volumes.joined(separator: ", ")
    }

    /// Three digits, as a person reads a volume.
    private static func rounded(_ value: Double) -> String {
        value >= 100
            ? "\(Int(value.rounded()))" : "\((value * (value >= 10 ? 10 : 100)).rounded() / (value >= 10 ? 10 : 100))"
    }
}
