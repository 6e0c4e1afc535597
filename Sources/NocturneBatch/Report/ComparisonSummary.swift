package import NocturneJournal

/// How one measure of agreement with references is distributed over the compared items.
package struct ComparisonSummary: Sendable, Equatable, Encodable {
    package let model: String
    package let label: String
    package let measure: String
    package let unit: String
    /// Items that have a value.
    package let count: Int
    package let mean: Double
    package let median: Double
    package let worst: Double
    /// At most five, the worst first.
    package let worstItems: [String]

    /// A reader of one comparison knows the model.
    private enum CodingKeys: String, CodingKey {
        case label, measure, unit
        case count = "items"
        case mean, median, worst, worstItems
    }

    /// Measures of agreement, and whether more is better.
    private static let measures = [
        "dice": true, "meanSurfaceDistance": false, "hausdorff95": false, "hausdorff": false, "surfaceDice": true,
    ]
    private static let worstCount = 5

    private struct Key: Hashable {
        let model: String
        let label: String
        let measure: String
        let unit: String
    }

    /// In the order of model, label and measure.
    /// - Parameters:
    ///   - names: of the items, in the order of `models` and `rows`.
    ///   - rows: the statistics of each item.
    package static func all(models: [String], names: [String], _ rows: [[Statistic]]) -> [ComparisonSummary] {
        var found: [Key: [(name: String, value: Double)]] = [:]
        for (place, own) in rows.enumerated() {
            for row in own where measures[row.measure] != nil {
                guard let value = row.value, value.isFinite else { continue }
                let key = Key(model: models[place], label: row.label, measure: row.measure, unit: row.unit)
                found[key, default: []].append((names[place], value))
            }
        }
        return found.map { key, values in
            let isBetterHigh = measures[key.measure] ?? true
            let ordered = values.sorted { a, b in
                a.value == b.value ? a.name < b.name : (a.value < b.value) == isBetterHigh
            }
            return ComparisonSummary(
                model: key.model,
                label: key.label,
                measure: key.measure,
                unit: key.unit,
                count: values.count,
                mean: rounded(values.reduce(0) { $0 + $1.value } / Double(values.count)),
                median: rounded(UnusualValues.Distribution.median(values.map(\.value)) ?? 0),
                worst: ordered[0].value,
                worstItems: ordered.prefix(worstCount).map(\.name)
            )
        }
        .sorted { ($0.model, $0.label, $0.measure) < ($1.model, $1.label, $1.measure) }
    }

    /// To six decimal places.
    static func rounded(_ value: Double) -> Double { (value * 1e6).rounded() / 1e6 }
}
