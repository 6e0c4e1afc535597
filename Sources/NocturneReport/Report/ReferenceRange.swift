import Foundation
public import NocturneJournal
public import NocturneOutput

/// The range of a measure that a person expects, such as one from the literature or from a healthy group.
public struct ReferenceRange: Codable, Hashable, Sendable {
    /// Nil for all models.
    package var model: String?
    /// As in `statistics.csv`.
    package var label: String
    /// As in `statistics.csv`, such as `volume`, and in its unit.
    package var measure: String
    /// At least one of both is given.
    package var low: Double?
    /// Nil where there is no upper limit.
    package var high: Double?

    /// Whether the range is about a value.
    package func applies(to statistic: Statistic, of model: String) -> Bool {
        measure == statistic.measure && label == statistic.label && (self.model ?? model) == model
    }

    /// How far a value is outside, as a z-score that takes the range for the central 95 % of a normal distribution, and at least
    /// ``UnusualValues/threshold``; nil for a value inside. A range with one end gives the threshold.
    package func score(of value: Double) -> Double? {
        guard value.isFinite, value < low ?? -.infinity || value > high ?? .infinity else { return nil }
        guard let low, let high, high > low else { return UnusualValues.threshold }
        // 95 % of a normal distribution lie within 1.96 standard deviations of its mean.
        let deviation = (high - low) / (2 * 1.96)
        return min(max(abs(value - (low + high) / 2) / deviation, UnusualValues.threshold), 99)
    }

    /// What the range is about, for a message.
    package var subject: String { "\(label) \(measure)" + (model.map { " of \($0)" } ?? "") }

    /// For a message: "5 to 9", "at least 5" or "at most 9".
    package var text: String {
        switch (low, high) {
        case (let low?, let high?): "\(CSVField.number(low)) to \(CSVField.number(high))"
        case (let low?, nil): "at least \(CSVField.number(low))"
        case (nil, let high?): "at most \(CSVField.number(high))"
        case (nil, nil): "any"
        }
    }
}

/// A table of reference ranges.
extension ReferenceRange {
    private static let limit = 16 << 20

    /// Reads a CSV file with the columns `label`, `measure`, `low` and `high`, and optionally `model`, in any order; separated by
    /// commas, semicolons or tabs. Without a number in `low` or `high` there is no limit on that side.
    /// - Throws: ``BatchError`` that names the file, the line and what is expected.
    public static func read(_ path: String) throws(BatchError) -> [ReferenceRange] {
        let expected = ". It needs the columns label, measure, low and high, and may have model"
        return try NamedTable.read(path, limit: limit, called: "the reference table", expected: expected, parse)
    }

    /// - Throws: `NamedTable.Fault` that names the row. In files separated by semicolons or tabs, numbers may have decimal commas.
    package static func parse(_ bytes: [UInt8]) throws(NamedTable.Fault) -> [ReferenceRange] {
        let table = try NamedTable(bytes, required: ["label", "measure", "low", "high"])
        return try table.rows.map { row throws(NamedTable.Fault) in
            func fault(_ detail: String) -> NamedTable.Fault { NamedTable.Fault(row: row.number, detail: detail) }
            func number(_ name: String) throws(NamedTable.Fault) -> Double? {
                guard let text = row[name] else { return nil }
                let plain = table.separator == UInt8(ascii: ",") ? text : text.replacing(",", with: ".")
                guard let number = Double(plain), number.isFinite else {
                    throw fault("\(name) is \"\(text)\", not a number")
                }
                return number
            }
            guard let label = row["label"], let measure = row["measure"] else {
                throw fault("label or measure is missing")
            }
            let (low, high) = (try number("low"), try number("high"))
            guard low != nil || high != nil else { throw fault("low and high are empty. Give one of them or both") }
            if let low, let high, low > high { throw fault("low is above high") }
            return ReferenceRange(model: row["model"], label: label, measure: measure, low: low, high: high)
        }
    }
}

extension JournalSetting<[ReferenceRange]> {
    /// The ranges that the report compares with; nil for none.
    public static var referenceRanges: Self { Self(json: "referenceRanges") }
}

extension Journal {
    /// Records the ranges that the report compares with from now on.
    public func expect(_ ranges: [ReferenceRange]) throws(JournalError) {
        guard try value(of: .referenceRanges) ?? [] != ranges else { return }
        try set(.isReportUpToDate, to: false)
        try set(.referenceRanges, to: ranges)
    }
}

extension UnusualValues.Value {
    /// The values of an item that are outside of their reference ranges.
    package static func outside(
        _ ranges: [ReferenceRange],
        _ statistics: [Statistic],
        of model: String,
        item: Int
    ) -> [UnusualValues.Value] {
        guard !ranges.isEmpty else { return [] }
        return statistics.flatMap { row in
            ranges.compactMap { range in
                guard let value = row.value, range.applies(to: row, of: model), let score = range.score(of: value)
                else { return nil }
                return UnusualValues.Value(
                    item: item,
                    label: row.label,
                    measure: row.measure,
                    value: value,
                    score: score,
                    text: "\(row.measure) \(CSVField.number(value)) \(row.unit), the reference range is \(range.text)"
                )
            }
        }
    }
}
