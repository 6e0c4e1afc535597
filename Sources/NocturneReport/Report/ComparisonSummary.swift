package import NocturneJournal
import NocturneSystem

/// How one measure of agreement with references is distributed over the compared items.
package struct ComparisonSummary: Sendable, Equatable, Encodable {
    /// The id of the model.
    package let model: String
    /// As in `statistics.csv`.
    package let label: String
    /// One of ``measureNames``.
    package let measure: String
    /// Of mean, median and worst.
    package let unit: String
    /// Items that have a value.
    package let count: Int
    /// Over the items that have a value, rounded.
    package let mean: Double
    /// Over the items that have a value, rounded.
    package let median: Double
    /// The lowest value of a coefficient, the highest distance, the difference furthest from zero.
    package let worst: Double
    /// At most five, the worst first.
    package let worstItems: [String]

    /// A reader of one comparison knows the model.
    private enum CodingKeys: String, CodingKey {
        case label, measure, unit
        case count = "items"
        case mean, median, worst, worstItems
    }

    /// Which values of a measure are best.
    private enum Best {
        case high
        case low
        case nearZero

        /// The larger, the worse.
        func badness(_ value: Double) -> Double {
            switch self {
            case .high: -value
            case .low: value
            case .nearZero: abs(value)
            }
        }
    }

    /// Measures of agreement.
    private static let measures: [String: Best] = [
        "dice": .high, "meanSurfaceDistance": .low, "hausdorff95": .low, "hausdorff": .low, "surfaceDice": .high,
        "volumeDifference": .nearZero, "relativeVolumeDifference": .nearZero,
    ]
    private static let worstCount = 5

    /// The measures of agreement with a reference.
    package static var measureNames: Set<String> { Set(measures.keys) }

    /// Takes the items of a batch one after the other.
    package struct Collector {
        private var found: [MeasureKey: [(name: String, value: Double)]] = [:]

        /// Without any item.
        package init() {}

        /// - Parameter rows: the statistics of the item.
        package mutating func add(model: String, name: String, _ rows: [Statistic]) {
            for row in rows where measures[row.measure] != nil {
                guard let value = row.value, value.isFinite else { continue }
                found[MeasureKey(row, of: model), default: []].append((name, value))
            }
        }

        /// In the order of model, label and measure.
        package func summaries() -> [ComparisonSummary] {
            found.map(ComparisonSummary.init).sorted {
                ($0.model, $0.label, $0.measure) < ($1.model, $1.label, $1.measure)
            }
        }
    }

    /// - Parameter values: of at least one item.
    private init(_ key: MeasureKey, _ values: [(name: String, value: Double)]) {
        let best = Self.measures[key.measure] ?? .high
        // The name decides between equal values, so that the five worst do not depend on the order of items.
        let ordered = values.sorted { (-best.badness($0.value), $0.name) < (-best.badness($1.value), $1.name) }
        model = key.model
        label = key.label
        measure = key.measure
        unit = key.unit
        count = values.count
        (mean, median) = Self.centers(of: values.map(\.value))
        worst = ordered[0].value
        worstItems = ordered.prefix(Self.worstCount).map(\.name)
    }

    /// Mean and median, rounded.
    /// - Parameter values: at least one.
    static func centers(of values: [Double]) -> (mean: Double, median: Double) {
        let scale = values.reduce(0) { max($0, abs($1)) }
        let mean = values.reduce(0, +) / Double(values.count)
        let median = UnusualValues.Distribution.median(values) ?? 0
        return (mean.roundedForResults(scale: scale), median.roundedForResults(scale: scale))
    }
}
