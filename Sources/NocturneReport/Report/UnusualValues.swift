package import NocturneJournal
import NocturneOutput
package import NocturneSystem

/// Which values are unusual in their batch: far from the median of all completed items of the same model.
///
/// This is not a statement about the patient: a batch of ill people has no healthy median, and a right result may be unusual.
/// It is the order in which a person looks at a thousand results.
///
/// Distances are robust z-scores: the difference from the median, divided by 1.4826 times the median absolute deviation,
/// which equals the standard deviation for normally distributed values and is not changed by outliers (Rousseeuw and
/// Croux, 1993). Beyond 3.5 a value counts as unusual (Iglewicz and Hoaglin, 1993).
package struct UnusualValues: Sendable {
    /// How a measure of one label is distributed over the items of one model, among the values in one unit.
    package struct Distribution: Sendable, Equatable, Encodable {
        /// The id of the model.
        package let model: String
        /// As in `statistics.csv`.
        package let label: String
        /// As in `statistics.csv`.
        package let measure: String
        /// Of the median.
        package let unit: String
        /// On which the spread is.
        package let scale: BatchMeasure.Scale
        /// How many values have a place on the scale.
        package let count: Int
        /// In the measure's unit.
        package let median: Double
        /// On the scale.
        package let spread: Double
    }

    /// One value that is unusual.
    package struct Value: Sendable, Equatable, Encodable {
        /// The item's place in the report.
        package let item: Int
        /// As in `statistics.csv`.
        package let label: String
        /// As in `statistics.csv`.
        package let measure: String
        /// Nil for a label that is missing.
        @Nullable package var value: Double?
        /// The absolute z-score, at most 99.
        package var score: Double
        /// For a reader.
        package let text: String
    }

    /// In the order of model, label, measure and unit.
    package let distributions: [Distribution]
    /// The most unusual first; equal ones in the order of the items.
    package let values: [Value]

    /// As recommended by Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993).
    package static let threshold = 3.5
    /// With fewer values nothing is known about what is usual.
    package static let leastCount = 8
    /// The score of a label that is missing, or cut by the border, where no other item's is. One that is so in a tenth of the
    /// items has the score of the threshold, and is no longer unusual beyond.
    private static let scoreOfRarestState = 10.0
    private static let rareShare = 0.1

    /// The values of a measure of one label, in the order of items: 12 bytes a value.
    fileprivate struct Column {
        var items: [Int32] = []
        /// Not a number where nothing was measured.
        var values: [Double] = []

        var count: Int { items.count }

        mutating func append(_ value: Double?, of item: Int) {
            items.append(Int32(item))
            values.append(value ?? .nan)
        }

        /// The places of the items with this value.
        func items(with value: Double) -> [Int] {
            zip(items, values).filter { $0.1 == value }.map { Int($0.0) }
        }
    }

    /// The values of all measures and labels, of which each column has only the latest in memory: there may be hundreds of
    /// labels in a million items.
    private struct Columns {
        private struct Place {
            /// The values that are not in ``parts`` yet.
            var latest = Column()
            var hasParts = false

            /// - Returns: the latest values, once there are enough for a part.
            mutating func append(_ value: Double?, of item: Int) -> Column? {
                latest.append(value, of: item)
                guard latest.count == Columns.valuesInPart else { return nil }
                defer { latest = Column() }
                return latest
            }
        }

        private var places: [MeasureKey: Place] = [:]
        /// Made when the first column is long enough.
        private var parts: TemporaryRows?

        // 6 KiB a part: large enough for few rows, small enough for hundreds of columns in memory.
        private static let valuesInPart = 512

        mutating func append(_ value: Double?, of item: Int, to key: MeasureKey) throws(JournalError) {
            guard let part = places[key, default: Place()].append(value, of: item) else { return }
            places[key]?.hasParts = true
            if parts == nil { parts = try TemporaryRows() }
            try parts?.add([(key: key.rowKey, bytes: part.bytes)])
        }

        var keys: some Sequence<MeasureKey> { places.keys }

        /// A whole column.
        func column(_ key: MeasureKey) throws(JournalError) -> Column {
            var column = Column()
            guard let place = places[key] else { return column }
            let earlier = place.hasParts ? try parts?.rows(of: key.rowKey).map(Column.init(bytes:)) ?? [] : []
            for part in earlier + [place.latest] {
                column.items += part.items
                column.values += part.values
            }
            return column
        }
    }

    /// Takes the items of a batch one after the other.
    package struct Collector {
        private let ranges: [ReferenceRange]
        private var columns = Columns()
        private var outside: [Value] = []
        private var count = 0

        /// - Parameter ranges: what a person expects, in batches of any size.
        package init(ranges: [ReferenceRange] = []) { self.ranges = ranges }

        /// - Parameter rows: of the item, with measures made from others; empty for items that are not completed.
        package mutating func add(model: String, _ rows: [Statistic]) throws(JournalError) {
            for row in rows where measures[row.measure] != nil || RareState(rawValue: row.measure) != nil {
                let key = MeasureKey(row, of: model)
                try columns.append(row.value, of: count, to: key)
            }
            outside += Value.outside(ranges, rows, of: model, item: count)
            count += 1
        }

        /// - Complexity: O(n log n) for n values.
        package func values() throws(JournalError) -> UnusualValues { try UnusualValues(columns, outside: outside) }
    }

    private static let measures = Dictionary(uniqueKeysWithValues: BatchMeasure.all.map { ($0.name, $0) })

    private init(_ columns: Columns, outside: [Value]) throws(JournalError) {
        var distributions: [Distribution] = []
        var values = outside
        for key in columns.keys {
            let column = try columns.column(key)
            guard column.count >= Self.leastCount else { continue }
            if let state = RareState(rawValue: key.measure) {
                values += Self.rare(key, column, state)
            } else if let measure = Self.measures[key.measure],
                let distribution = Distribution(key, column, measure)
            {
                distributions.append(distribution)
                values += zip(column.items, column.values).compactMap {
                    Value($0.1, of: Int($0.0), key, measure, distribution)
                }
            }
        }
        self.distributions = distributions.sorted {
            ($0.model, $0.label, $0.measure, $0.unit) < ($1.model, $1.label, $1.measure, $1.unit)
        }
        self.values = values.sorted {
            ($1.score, $0.item, $0.label, $0.measure, $0.text) < ($0.score, $1.item, $1.label, $1.measure, $1.text)
        }
    }

    /// Items in a state in which hardly any other item is: a label is missing, or cut by the border of the volume.
    private static func rare(_ key: MeasureKey, _ column: Column, _ state: RareState) -> [Value] {
        let found = column.items(with: state.value)
        guard !found.isEmpty, Double(found.count) <= rareShare * Double(column.count) else { return [] }
        let share = Double(found.count) / Double(column.count)
        let score = scoreOfRarestState - (scoreOfRarestState - threshold) * share / rareShare
        return found.map {
            Value(
                item: $0,
                label: key.label,
                measure: state.measure,
                value: state.shownValue,
                score: max(score, threshold),
                text: state.text(found.count, column.count)
            )
        }
    }
}

extension MeasureKey {
    fileprivate var rowKey: String { [model, label, measure, unit].joined(separator: "\u{1F}") }
}

extension UnusualValues.Column {
    init(bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            let count = bytes.count / 12
            items = (0..<count).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self) }
            values = (0..<count).map { bytes.loadUnaligned(fromByteOffset: 4 * count + 8 * $0, as: Double.self) }
        }
    }

    /// In the machine's byte order, since the rows are temporary.
    package var bytes: [UInt8] { items.withUnsafeBytes { Array($0) } + values.withUnsafeBytes { Array($0) } }
}

extension UnusualValues.Distribution {
    fileprivate init?(_ key: MeasureKey, _ column: UnusualValues.Column, _ measure: BatchMeasure) {
        let places = column.values.compactMap(measure.scale.place)
        guard places.count >= UnusualValues.leastCount, let middle = Self.median(places) else { return nil }
        let deviation = Self.median(places.map { abs($0 - middle) }) ?? 0
        self.init(
            model: key.model,
            label: key.label,
            measure: key.measure,
            unit: key.unit,
            scale: measure.scale,
            count: places.count,
            median: measure.scale.value(at: middle),
            // 1.4826 is the reciprocal of the 0.75 quantile of the standard normal distribution.
            spread: max(1.4826 * deviation, measure.leastSpread(unit: key.unit, median: middle))
        )
    }

    /// Of an even number the mean of the two in the middle.
    package static func median(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }
}

extension UnusualValues.Value {
    /// Nil for a value that is not unusual.
    fileprivate init?(
        _ value: Double,
        of item: Int,
        _ key: MeasureKey,
        _ measure: BatchMeasure,
        _ distribution: UnusualValues.Distribution
    ) {
        guard let place = measure.scale.place(value), let middle = measure.scale.place(distribution.median)
        else { return nil }
        let distance = (place - middle) / distribution.spread
        guard abs(distance) > UnusualValues.threshold else { return nil }
        let text =
            measure.scale == .log
            ? "\(measure.title) \(Self.digits(value / distribution.median)) times the median of this batch"
            : "\(measure.title) \(Self.digits(value)), the median of this batch is \(Self.digits(distribution.median))"
        self.init(
            item: item,
            label: key.label,
            measure: key.measure,
            value: value,
            score: min(abs(distance), 99),
            text: text
        )
    }

    /// Three significant digits.
    private static func digits(_ value: Double) -> String {
        guard value != 0, value.isFinite else { return "0" }
        var scale = 1.0
        while abs(value) * scale < 100, scale < 1e9 { scale *= 10 }
        return CSVField.number((value * scale).rounded() / scale)
    }
}

extension UnusualValues {
    /// A state of a label that is unusual where it is rare.
    private enum RareState: String {
        case missing = "voxelCount"
        case cut = "touchesBorder"

        /// Of that measure.
        var value: Double { self == .missing ? 0 : 1 }
        var measure: String { self == .missing ? "volume" : rawValue }
        var shownValue: Double? { self == .missing ? nil : value }

        func text(_ count: Int, _ all: Int) -> String {
            switch self {
            case .missing: "missing; found in \(all - count) of \(all) items of this batch"
            case .cut: "touches the border of the volume; \(count) of \(all) items of this batch do"
            }
        }
    }
}
