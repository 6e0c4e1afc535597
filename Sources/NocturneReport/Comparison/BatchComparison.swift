import NocturneCore
package import NocturneJournal
import NocturneSystem

/// Two batches over the same inputs, such as those of two versions of a model, side by side.
package struct BatchComparison: Sendable {
    /// The same input in both batches.
    package struct Pair: Sendable {
        /// In the first batch, the one that is compared with.
        package let first: JournalItem
        /// In the second batch.
        package let second: JournalItem

        /// For a reader.
        package var name: String { first.name }
        /// Whether both have a result, so that measures can be compared.
        package var areCompleted: Bool { first.state == .completed && second.state == .completed }
    }

    /// One measure of one label of one item in both batches.
    package struct Row: Sendable {
        /// The name in the first batch.
        package let item: String
        /// Label, measure and unit; without the model, which may differ.
        package let key: MeasureKey
        /// In the unit of ``key``; nil for "not measured".
        package let first: Double?
        /// In the unit of ``key``; nil for "not measured".
        package let second: Double?
        /// The second minus the first; for a measure of agreement the measure itself. Nil if one of them is not measured.
        package let value: Double?

        /// Whether it is about the source alone, as the spacing of voxels: results of all models have it.
        package var isOfSource: Bool {
            key.label == "image"
                && (key.measure.hasPrefix("spacing") || [TimeTable.timePoint, TimeTable.time].contains(key.measure))
        }

        /// - Parameters:
        ///   - item: the name in the first batch.
        ///   - key: label, measure and unit.
        ///   - first: nil for "not measured", and for a measure of agreement.
        ///   - second: nil for "not measured", and for a measure of agreement.
        ///   - value: what is compared over all items.
        package init(item: String, _ key: MeasureKey, first: Double? = nil, second: Double? = nil, value: Double?) {
            (self.item, self.key) = (item, key)
            (self.first, self.second, self.value) = (first, second, value)
        }
    }

    /// How a measure differs over all items.
    package struct Change: Sendable, Encodable, Equatable {
        /// As in `statistics.csv`.
        package let label: String
        /// As in `statistics.csv`.
        package let measure: String
        /// Of all differences here.
        package let unit: String
        /// How many items have the measure in both batches.
        package let items: Int
        /// Over the items, rounded.
        package let meanDifference: Double
        /// Over the items, rounded.
        package let medianDifference: Double
        /// The one with the largest absolute value.
        package let largestDifference: Double
        /// The name of the item with ``largestDifference``.
        package let largestItem: String
    }

    /// In the order of the first batch.
    package let pairs: [Pair]
    /// The names of items whose input the other batch does not have.
    package let onlyFirst: [String]
    /// The names of items whose input the first batch does not have.
    package let onlySecond: [String]
    /// The one that is compared with.
    package let first: BatchContents
    /// The other one.
    package let second: BatchContents

    /// Items are the same when their inputs and their models are; where a batch has one item for an input, whatever its model.
    package init(_ first: BatchContents, _ second: BatchContents) {
        self.first = first
        self.second = second
        var rest = Dictionary(grouping: second.items.filter(Self.isCompared), by: \.path)
        let own = Dictionary(grouping: first.items.filter(Self.isCompared), by: \.path)
        var pairs: [Pair] = []
        var onlyFirst: [String] = []
        for item in first.items where Self.isCompared(item) {
            // Paths are compared, since names depend on the other items of a batch.
            let candidates = rest[item.path] ?? []
            // Two versions of one model may have different ids.
            let isOnly = own[item.path]?.count == 1 && candidates.count == 1
            guard let place = candidates.firstIndex(where: { isOnly || $0.model == item.model }) else {
                onlyFirst.append(item.name)
                continue
            }
            pairs.append(Pair(first: item, second: candidates[place]))
            rest[item.path]?.remove(at: place)
        }
        self.pairs = pairs
        self.onlyFirst = onlyFirst
        let paired = Set(pairs.map(\.second.id))
        onlySecond = second.items.filter { Self.isCompared($0) && !paired.contains($0.id) }.map(\.name)
    }

    private static func isCompared(_ item: JournalItem) -> Bool { item.state != .skipped }

    /// Pairs that ended in different states.
    package var changedStates: [Pair] { pairs.filter { $0.first.state != $0.second.state } }

    /// The labels, classes and regions that have measures in only one of the batches, of pairs that are completed in both; sorted.
    package var labelsOfOne: (first: [String], second: [String]) {
        func labels(_ batch: BatchContents, _ id: (Pair) -> Int64) -> Set<String> {
            Set(pairs.filter(\.areCompleted).flatMap { batch.statistics[id($0)] ?? [] }.map(\.label)).subtracting([""])
        }
        func only(_ own: Set<String>, _ other: Set<String>) -> [String] {
            let others = Set(other.map(LabelName.comparable))
            return own.filter { !others.contains(LabelName.comparable($0)) }.sorted()
        }
        let (own, other) = (labels(first, \.first.id), labels(second, \.second.id))
        return (only(own, other), only(other, own))
    }

    /// Measures that both have, of pairs that are completed in both, with the labels of the first.
    package func rows(of pair: Pair) -> [Row] {
        guard pair.areCompleted else { return [] }
        let statistics = second.statistics[pair.second.id] ?? []
        let others = Dictionary(statistics.map { (MeasureKey($0), $0.value) }) { first, _ in first }
        func key(_ row: Statistic) -> MeasureKey {
            var row = row
            row.label = LabelName.comparable(row.label)
            return MeasureKey(row)
        }
        // Made where a name is not found as it is: features have many rows.
        lazy var similar = Dictionary(statistics.map { (key($0), $0.value) }) { first, _ in first }
        return (first.statistics[pair.first.id] ?? []).compactMap { row in
            guard let other = others[MeasureKey(row)] ?? similar[key(row)] else { return nil }
            return Row(
                item: pair.name,
                MeasureKey(row),
                first: row.value,
                second: other,
                value: row.value.flatMap { own in
                    other.map { ($0 - own).roundedForResults(scale: max(abs($0), abs(own))) }
                }
            )
        }
    }

    /// The measures that differ in some item, in the order in which they first appear.
    package static func changes(_ rows: [Row]) -> [Change] {
        var order: [MeasureKey] = []
        var values: [MeasureKey: [(item: String, value: Double)]] = [:]
        for row in rows {
            guard let value = row.value, value.isFinite else { continue }
            let key = row.key
            if values[key] == nil { order.append(key) }
            values[key, default: []].append((row.item, value))
        }
        return order.compactMap { key in
            guard let found = values[key], found.contains(where: { $0.value != 0 }),
                let largest = found.max(by: { abs($0.value) < abs($1.value) })
            else { return nil }
            let (mean, median) = ComparisonSummary.centers(of: found.map(\.value))
            return Change(
                label: key.label,
                measure: key.measure,
                unit: key.unit,
                items: found.count,
                meanDifference: mean,
                medianDifference: median,
                largestDifference: largest.value,
                largestItem: largest.item
            )
        }
    }
}
