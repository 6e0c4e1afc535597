import Foundation
package import NocturneJournal
import NocturneSystem

/// A measure by which items of a batch are compared with each other.
package struct BatchMeasure: Sendable {
    /// The scale on which values are spread evenly around their median.
    package enum Scale: String, Sendable, Encodable {
        case linear
        case log

        /// Nil for a value that has no place on this scale.
        package func place(_ value: Double) -> Double? {
            switch self {
            case .linear: value.isFinite ? value : nil
            case .log: value > 0 && value.isFinite ? Foundation.log(value) : nil
            }
        }

        /// The value at a place: the inverse of ``place(_:)``.
        package func value(at place: Double) -> Double { self == .log ? exp(place) : place }
    }

    /// As in `statistics.csv`.
    package let name: String
    /// That of the median and of the spread.
    package let scale: Scale
    /// The least spread that is assumed, on the scale: differences below it are never unusual.
    private let leastSpread: Double
    /// For a reader.
    package let title: String

    /// The least spread for a distribution.
    /// - Parameter median: on the scale. In other units than HU, the spread is 5 % of it: such numbers may be of any size.
    package func leastSpread(unit: String, median: Double) -> Double {
        guard name == "intensityMean", unit != "HU" else { return leastSpread }
        return max(0.05 * abs(median), 1e-6)
    }

    /// Those that are compared. A volume of half the size is as unusual as one of twice the size, so volumes and standard
    /// deviations are compared by their logarithms.
    package static let all = [
        BatchMeasure(name: "volume", scale: .log, leastSpread: 0.05, title: "volume"),
        BatchMeasure(name: Derived.ratio, scale: .log, leastSpread: 0.05, title: "ratio of left to right"),
        BatchMeasure(name: Derived.position[0], scale: .linear, leastSpread: 3, title: "position to the right"),
        BatchMeasure(name: Derived.position[1], scale: .linear, leastSpread: 3, title: "position to the front"),
        BatchMeasure(name: Derived.position[2], scale: .linear, leastSpread: 3, title: "position to the head"),
        BatchMeasure(name: "components", scale: .linear, leastSpread: 1, title: "number of components"),
        BatchMeasure(
            name: "largestComponentShare",
            scale: .linear,
            leastSpread: 0.05,
            title: "share of the largest component"
        ),
        BatchMeasure(name: "intensityMean", scale: .linear, leastSpread: 1, title: "mean intensity"),
        BatchMeasure(
            name: "intensityStandardDeviation",
            scale: .log,
            leastSpread: 0.05,
            title: "spread of intensities"
        ),
        BatchMeasure(name: "meanProbability", scale: .linear, leastSpread: 0.02, title: "mean probability"),
        BatchMeasure(
            name: "uncertainBoundaryShare",
            scale: .linear,
            leastSpread: 0.05,
            title: "uncertain share of the boundary"
        ),
        BatchMeasure(name: "passAgreement", scale: .linear, leastSpread: 0.05, title: "agreement of passes"),
        BatchMeasure(name: "secondImageMean", scale: .log, leastSpread: 0.05, title: "mean of the second image"),
        BatchMeasure(name: "secondImageMaximum", scale: .log, leastSpread: 0.05, title: "maximum of the second image"),
        BatchMeasure(name: "radiomics:QCFX", scale: .linear, leastSpread: 0.02, title: "sphericity"),
        BatchMeasure(name: "radiomics:2PR5", scale: .log, leastSpread: 0.05, title: "ratio of surface to volume"),
        BatchMeasure(name: "radiomics:TLU2", scale: .linear, leastSpread: 0.1, title: "entropy of intensities"),
        BatchMeasure(name: "radiomics:KE2A", scale: .linear, leastSpread: 0.2, title: "skewness of intensities"),
        BatchMeasure(name: "dice", scale: .linear, leastSpread: 0.02, title: "Dice coefficient"),
        BatchMeasure(name: "instances", scale: .linear, leastSpread: 1, title: "number of objects"),
        BatchMeasure(name: "confidenceMean", scale: .linear, leastSpread: 0.03, title: "mean confidence"),
    ]

    /// Measures made from others: of labels next to each other, so that where the patient lies does not matter.
    package enum Derived {
        /// The volume of a label on the left divided by that of its counterpart on the right, under the left one's name.
        package static let ratio = "leftRightRatio"
        /// The centroid relative to the mean centroid of the item's labels, in mm along R, A and S.
        package static let position = ["relativeRasX", "relativeRasY", "relativeRasZ"]

        /// The measures of an item, followed by those made from them.
        package static func with(_ statistics: [Statistic]) -> [Statistic] {
            statistics.isEmpty ? [] : statistics + positions(statistics) + ratios(statistics)
        }

        private static func positions(_ statistics: [Statistic]) -> [Statistic] {
            let sources = ["centroidRasX", "centroidRasY", "centroidRasZ"]
            return zip(sources, position).flatMap { source, name -> [Statistic] in
                let found = statistics.filter { $0.measure == source }
                let values = found.compactMap(\.value)
                guard values.count > 1 else { return [] }
                // Relative to the mean of all labels, so that the place of the patient in the scanner does not count.
                let mean = values.reduce(0, +) / Double(values.count)
                return found.map {
                    Statistic(
                        label: $0.label,
                        measure: name,
                        value: $0.value.map { ($0 - mean).roundedForResults(scale: max(abs($0), abs(mean))) },
                        unit: "mm"
                    )
                }
            }
        }

        /// The ratios of volumes of all labels on the left that have a counterpart on the right.
        private static func ratios(_ statistics: [Statistic]) -> [Statistic] {
            let volumes = Dictionary(
                statistics.filter { $0.measure == "volume" }.map { ($0.label, $0.value) }
            ) { first, _ in first }
            return statistics.filter { $0.measure == "volume" }.compactMap { row in
                guard let other = counterpart(of: row.label), let right = volumes[other] else { return nil }
                let ratio = row.value.flatMap { left in right.map { left / $0 } }
                return Statistic(
                    label: row.label,
                    measure: Derived.ratio,
                    value: ratio.flatMap { $0.isFinite ? $0.roundedForResults() : nil },
                    unit: "1"
                )
            }
        }

        /// The name of the label on the other side; nil for a label that is not one on the left.
        package static func counterpart(of label: String) -> String? {
            for (left, right) in [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")] where label.contains(left) {
                return label.replacing(left, with: right)
            }
            return nil
        }
    }
}
