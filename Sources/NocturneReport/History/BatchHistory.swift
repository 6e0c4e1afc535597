import NocturneCore
package import NocturneJournal
import NocturneOutput
package import NocturneSystem

/// The items of several batches in one list, in the order of time, and how the measures of each subject have changed.
package struct BatchHistory: Sendable, Encodable {
    /// An item.
    package struct Entry: Sendable, Encodable, Equatable {
        /// Of the table of subjects; where it has none, when the item's state last changed, UTC.
        @Nullable package var date: String?
        /// Of the table of subjects; null where it does not have the item.
        @Nullable package var subject: String?
        /// The output folder, as it was given.
        package let batch: String
        /// The name of its folder.
        package let item: String
        /// As in the report: an item that was not processed is `notReached`.
        package let state: String
        /// The id of its model; null for none.
        @Nullable package var model: String?
        /// What was found, in a few words; empty for an item that is not completed.
        package let result: String
        /// Measures next to those of the same subject before, with the same model.
        package fileprivate(set) var measures: [Measure] = []
    }

    /// A measure of one item.
    package struct Measure: Sendable, Encodable, Equatable {
        /// As in `statistics.csv`.
        package let label: String
        /// As in `statistics.csv`.
        package let measure: String
        /// Values are only compared with those in the same unit.
        package let unit: String
        /// Finite; measures without a value are left out.
        package let value: Double
        /// Of the subject's item before; null for its first one, and where the subject has several items of that time.
        @Nullable package var previous: Double?
        /// The value minus the previous one.
        @Nullable package var change: Double?
    }

    /// Part of the JSON document, as of every medical result.
    package let disclaimer = Disclaimer.text
    /// The earliest first.
    package let entries: [Entry]

    /// Whether subjects have several items of one day, or without dates of one batch: they are listed, and not compared.
    package let hasSimultaneousItems: Bool

    private enum CodingKeys: CodingKey { case disclaimer, entries }

    /// One batch, under the name that is shown.
    package typealias Batch = (name: String, contents: BatchContents)

    /// - Parameter subject: the only subject, patient or lesion whose items are listed; nil for all items.
    package init(_ batches: [Batch], subjects: SubjectTable?, only subject: String?) {
        var found: [(entry: Entry, statistics: [Statistic], changed: String, moment: [String])] = []
        var sources: [[String]: Set<String>] = [:]
        for (name, contents) in batches {
            for item in contents.items where item.state != .skipped {
                let known = subjects?.entry(item: item.name, path: item.path)
                if let subject, known?.isOf(subject) != true { continue }
                let statistics = item.state == .completed ? contents.statistics[item.id] ?? [] : []
                let model = contents.models.id(of: item)
                let entry = Entry(
                    date: known?.date ?? item.changed,
                    subject: known?.subject,
                    batch: name,
                    item: item.name,
                    state: BatchReport.name(of: item.state),
                    model: model.isEmpty ? nil : model,
                    result: Self.result(statistics)
                )
                let moment = Self.moment(entry, isDated: known?.date != nil)
                if entry.subject != nil, !statistics.isEmpty { sources[moment, default: []].insert(Self.source(item)) }
                found.append((entry, statistics, Self.digits(item.changed), moment))
            }
        }
        // Between equal dates the time of the result decides, then the place, so that the order is the same in every run.
        let order = found.indices.sorted {
            (Self.digits(found[$0].entry.date), found[$0].changed, $0)
                < (Self.digits(found[$1].entry.date), found[$1].changed, $1)
        }
        var earlier: [Key: Double] = [:]
        entries = order.map { place in
            var entry = found[place].entry
            let isAlone = sources[found[place].moment]?.count == 1
            entry.measures = Self.measures(found[place].statistics, of: entry, isCompared: isAlone, after: &earlier)
            return entry
        }
        hasSimultaneousItems = sources.values.contains { $0.count > 1 }
    }

    /// The subject, the model, and the day, without dates the batch: between two items that have these in common there is no time.
    private static func moment(_ entry: Entry, isDated: Bool) -> [String] {
        let time = isDated ? "day \(digits(entry.date).prefix(8))" : "batch \(entry.batch)"
        return [entry.subject ?? "", entry.model ?? "", time]
    }

    /// The key without the model, which it has in some batches only: an item that two batches have is one item.
    private static func source(_ item: JournalItem) -> String {
        item.key.hasSuffix("|" + item.model) ? String(item.key.dropLast(item.model.count + 1)) : item.key
    }

    /// What the measures of one subject, one model, label and measure have in common.
    private struct Key: Hashable {
        let subject: String
        let measure: MeasureKey

        /// Nil for an item of no known subject.
        init?(_ entry: Entry, _ row: Statistic) {
            guard let subject = entry.subject else { return nil }
            (self.subject, measure) = (subject, MeasureKey(row, of: entry.model ?? ""))
        }
    }

    private static func measures(
        _ statistics: [Statistic],
        of entry: Entry,
        isCompared: Bool,
        after earlier: inout [Key: Double]
    ) -> [Measure] {
        statistics.compactMap { row in
            guard let value = row.value, value.isFinite, isFollowed(row.measure) else { return nil }
            let key = isCompared ? Key(entry, row) : nil
            let previous = key.flatMap { earlier.updateValue(value, forKey: $0) }
            let change = previous.map { (value - $0).roundedForResults(scale: max(abs(value), abs($0))) }
            return Measure(
                label: row.label,
                measure: row.measure,
                unit: row.unit,
                value: value,
                previous: previous,
                change: change
            )
        }
    }

    /// The measures that are followed over time.
    private static func isFollowed(_ measure: String) -> Bool {
        ["volume", "share", "intensityMean", "probability", "instances"].contains(measure)
            || measure.hasPrefix("level (")
    }

    /// Of a date in ISO 8601, with or without hyphens: their order is that of time.
    private static func digits(_ date: String?) -> String { (date ?? "").filter(\.isNumber) }

    /// The most probable class, the number of objects, or the number of labels that were found.
    package static func result(_ statistics: [Statistic]) -> String {
        let classes = statistics.filter { $0.measure == "probability" }
        if let top = classes.max(by: { $0.value ?? 0 < $1.value ?? 0 }), let value = top.value {
            return "\(top.label) \(CSVField.number((value * 100).rounded())) %"
        }
        if let objects = statistics.first(where: { $0.measure == "instances" && $0.label.isEmpty })?.value {
            return "\(CSVField.number(objects)) objects"
        }
        let labels = statistics.filter { ["volume", "share"].contains($0.measure) && !$0.isOfRegion }
        return labels.isEmpty ? "" : "\(labels.count { $0.value ?? 0 > 0 }) of \(labels.count) labels"
    }
}

extension BatchHistory {
    /// Every measure: one row for each item, label and measure; an item without measures has one row.
    package var table: String {
        var text = "date,subject,batch,item,state,model,label,measure,unit,value,previous,change,disclaimer\n"
        for entry in entries {
            let head = [entry.date ?? "", entry.subject ?? "", entry.batch, entry.item, entry.state, entry.model ?? ""]
            let rows = entry.measures.map { measure in
                [measure.label, measure.measure, measure.unit].map(CSVField.text)
                    + [measure.value, measure.previous, measure.change].map { $0.map(CSVField.number) ?? "" }
            }
            for row in rows.isEmpty ? [Array(repeating: "", count: 6)] : rows {
                text +=
                    (head.map(CSVField.text) + row + [CSVField.text(Disclaimer.short)]).joined(separator: ",") + "\n"
            }
        }
        return text
    }

    /// How a measure of a subject has gone from its first item to its last, of those that are compared.
    package struct Course: Sendable, Equatable {
        /// As in the table of subjects.
        package let subject: String
        /// Of one model: values of two models are never put together.
        package let measure: MeasureKey
        /// In the order of time.
        package let values: [Double]
        /// Whether all values are equal.
        package var isConstant: Bool { Set(values).count == 1 }
        /// The last value minus the first, rounded.
        package var change: Double {
            let (first, last) = (values.first ?? 0, values.last ?? 0)
            return (last - first).roundedForResults(scale: max(abs(first), abs(last)))
        }
    }

    /// In the order of subjects, and of the measures of their items.
    package var courses: [Course] {
        var order: [Key] = []
        var values: [Key: [Double]] = [:]
        for entry in entries {
            for row in entry.measures {
                let statistic = Statistic(label: row.label, measure: row.measure, value: row.value, unit: row.unit)
                guard let previous = row.previous, let key = Key(entry, statistic) else { continue }
                if values[key] == nil {
                    order.append(key)
                    values[key] = [previous]
                }
                values[key]?.append(row.value)
            }
        }
        return order.enumerated().sorted { ($0.element.subject, $0.offset) < ($1.element.subject, $1.offset) }
            .map { _, key in Course(subject: key.subject, measure: key.measure, values: values[key] ?? []) }
    }
}
