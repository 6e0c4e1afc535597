package import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The report's values about the batch as a whole, and how it shows one item. The files of the report are functions of the
/// journal alone, with no time in them.
///
/// A batch may have a million items. They are read twice, in parts: once by ``Collector`` for what is about all of them, and
/// once by ``ReportText``, which makes the files.
package struct BatchReport: Sendable {
    /// Of the form of the report's files. 2 has unusual values, 3 the codes of reasons, 4 the table of measurements, 5 that over
    /// time.
    package static let version = 5
    /// How many items are in memory at once.
    package static let itemsPerPart = 500

    /// What the batch was started with.
    package let description: BatchDescription
    /// Of all items, by their states.
    package let counts: BatchCounts
    /// How many items a person may want to look at.
    package let remarks: ReportRemarks
    /// The values that are far from the batch's median, and how all values are distributed.
    package let unusual: UnusualValues
    /// The marks of reviewers about results as they are now, by the name of the item.
    package let marks: [String: [ReviewMark]]
    /// What other tools have read on objects in results as they are now, by the id of the item.
    private let texts: [Int64: [Int: ObjectText]]
    /// Over all compared items, for each model, label and measure.
    package let comparison: [ComparisonSummary]
    /// The first 100 completed items that could not be compared with their references, each with its note.
    package let notCompared: [(place: Int, item: String, note: String)]
    /// The columns of `measurements.csv`.
    package let measurements: MeasurementTable
    /// The columns of `radiomics.csv`.
    package let radiomics: RadiomicsTable
    /// Whether some items are volumes of one file over time.
    package let hasTime: Bool
    /// How the batch shows names that belong to no item.
    package let names: ShownNames
    /// Of one item, by its place: the most unusual first.
    private let unusualOfItem: [Int: [UnusualValues.Value]]

    /// Takes the items of a batch in the order of discovery.
    package struct Collector {
        private let description: BatchDescription
        private var counts = BatchCounts()
        private var remarks = ReportRemarks()
        private var notCompared: [(place: Int, item: String, note: String)] = []
        private var hasTime = false
        private var place = 0
        private var words: Set<String> = []
        private var unusual: UnusualValues.Collector
        /// Those that no item so far has a value for.
        private var unusedRanges: [ReferenceRange]
        private var comparison = ComparisonSummary.Collector()
        private var tables = (measurements: MeasurementTable(), radiomics: RadiomicsTable())
        private let marks: [String: [ReviewMark]]
        private var currentMarks: [String: [ReviewMark]] = [:]
        private let texts: [String: [ObjectText]]
        private var currentTexts: [Int64: [Int: ObjectText]] = [:]

        /// - Parameters:
        ///   - marks: of reviewers. Those about results that have changed since are left out.
        ///   - texts: of other tools; likewise.
        ///   - ranges: that values are expected in.
        package init(
            _ description: BatchDescription,
            marks: [ReviewMark] = [],
            texts: [ObjectText] = [],
            ranges: [ReferenceRange] = []
        ) {
            self.description = description
            self.marks = Dictionary(grouping: marks, by: \.item)
            self.texts = Dictionary(grouping: texts, by: \.item)
            unusual = UnusualValues.Collector(ranges: ranges)
            unusedRanges = ranges
        }

        /// Takes the next item. Its place in the order of calls is its place in the report.
        package mutating func add(_ record: ItemRecord) throws(JournalError) {
            let (item, product) = (record.item, record.product)
            let measures = product.statistics.withoutFeatures
            let rows = BatchMeasure.Derived.with(measures.rows)
            let model = description.models.id(of: item)
            let values = rows + measures.features
            try unusual.add(model: model, values)
            unusedRanges.removeAll { range in values.contains { range.applies(to: $0, of: model) } }
            tables.measurements.add(rows)
            tables.radiomics.add(measures.features)
            comparison.add(model: model, name: item.name, rows)
            counts.add(1, item.state)
            remarks.add(item, product.notes)
            if notCompared.count < 100, let note = product.notes.first(where: { $0.code == .notCompared }) {
                notCompared.append((place, item.name, note.description))
            }
            hasTime = hasTime || TimeTable.has(product.statistics)
            place += 1
            words.formUnion(item.words)
            let current = (marks[item.name] ?? []).filter { $0.fingerprint == item.fingerprint }
            if !current.isEmpty { currentMarks[item.name] = current }
            if let own = texts[item.name] { currentTexts.merge(own.current(for: [item])) { first, _ in first } }
        }

        /// - Complexity: O(n log n) for n values.
        package consuming func report() throws(JournalError) -> BatchReport {
            let unusual = try self.unusual.values()
            let unusualOfItem = Dictionary(grouping: unusual.values, by: \.item)
            remarks.unusual = unusualOfItem.count
            // Without a result nothing is known about its values.
            if counts.completed > 0, !unusedRanges.isEmpty { remarks.unusedRanges = unusedRanges.map(\.subject) }
            let comparison = self.comparison.summaries()
            if comparison.isEmpty, remarks.notCompared > 0 { remarks.isNothingCompared = true }
            return BatchReport(
                description: description,
                counts: counts,
                remarks: remarks,
                unusual: unusual,
                marks: currentMarks,
                texts: currentTexts,
                comparison: comparison,
                notCompared: notCompared,
                measurements: tables.measurements,
                radiomics: tables.radiomics,
                hasTime: hasTime,
                names: ShownNames(description.identifiers, words: words),
                unusualOfItem: unusualOfItem
            )
        }
    }

    /// How the report shows the items that follow `place` others.
    package func items(_ records: [ItemRecord], from place: Int) -> [ReportedItem] {
        zip(place..., records).map { place, record in
            let item = record.item
            return ReportedItem(
                record,
                place: place,
                model: description.models.id(of: item),
                unusual: unusualOfItem[place] ?? [],
                additions: (marks[item.name] ?? [], texts[item.id] ?? [:]),
                names: ShownNames(description.identifiers, words: item.words)
            )
        }
    }

    /// To two decimal places.
    package static func rounded(_ score: Double) -> Double { (score * 100).rounded() / 100 }

    /// The name of a state in the report about a run that has ended.
    package static func name(of state: ItemState) -> String {
        state == .pending || state == .started ? "notReached" : state.rawValue
    }
}

extension [BatchDescription.Model] {
    /// The id of the model that processes an item; empty for none. A batch of an earlier version names none where it has one.
    func id(of item: JournalItem) -> String { item.model.isEmpty && count == 1 ? self[0].id : item.model }
}
