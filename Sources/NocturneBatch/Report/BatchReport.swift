package import NocturneJournal

/// What the report says about the batch as a whole, and how it shows one item. The files of the report are functions of the
/// journal alone, with no time in them.
///
/// A batch may have a million items. They are read twice, in parts: once by ``Collector`` for what is about all of them, and
/// once by ``ReportText``, which makes the files.
package struct BatchReport: Sendable {
    /// Of the form of the report's files. 2 has unusual values, 3 the codes of reasons, 4 the table of measurements.
    package static let version = 4
    /// How many items are in memory at once.
    package static let itemsPerPart = 500

    package let description: BatchDescription
    package let counts: BatchCounts
    package let remarks: ReportRemarks
    package let unusual: UnusualValues
    /// The marks of reviewers about results as they are now, by the name of the item.
    package let marks: [String: [ReviewMark]]
    /// Over all compared items, for each model, label and measure.
    package let comparison: [ComparisonSummary]
    package let measurements: MeasurementTable
    /// How the batch shows names that belong to no item.
    let names: ShownNames
    /// Of one item, by its place: the most unusual first.
    private let unusualOfItem: [Int: [UnusualValues.Value]]

    /// Takes the items of a batch in the order of discovery.
    package struct Collector {
        private let description: BatchDescription
        private var counts = BatchCounts()
        private var (noted, incomplete) = (0, 0)
        private var words: Set<String> = []
        private var unusual: UnusualValues.Collector
        private var comparison = ComparisonSummary.Collector()
        private var measurements = MeasurementTable.Collector()
        private let marks: [String: [ReviewMark]]
        private var currentMarks: [String: [ReviewMark]] = [:]

        /// - Parameters:
        ///   - marks: of reviewers. Those of results that have changed since are left out.
        ///   - ranges: that values are expected in.
        package init(_ description: BatchDescription, marks: [ReviewMark], ranges: [ReferenceRange]) {
            self.description = description
            self.marks = Dictionary(grouping: marks, by: \.item)
            unusual = UnusualValues.Collector(ranges: ranges)
        }

        /// - Parameter statistics: of a completed item; empty for others.
        package mutating func add(_ item: JournalItem, _ statistics: [Statistic]) {
            let rows = BatchMeasure.Derived.with(statistics)
            let model = description.model(of: item)
            unusual.add(model: model, rows)
            measurements.add(rows)
            comparison.add(model: model, name: item.name, rows)
            counts.add(1, item.state)
            if item.state == .completed {
                if !item.notes.isEmpty { noted += 1 }
                if item.notes.contains(where: MissingOutput.isOne) { incomplete += 1 }
            }
            words.formUnion(item.words)
            let current = (marks[item.name] ?? []).filter { $0.fingerprint == item.fingerprint }
            if !current.isEmpty { currentMarks[item.name] = current }
        }

        /// - Complexity: O(n log n) for n values.
        package consuming func report() -> BatchReport {
            BatchReport(
                (description, ShownNames(description.identifiers, words: words)),
                (counts, noted, incomplete),
                unusual.values(),
                marks: currentMarks,
                comparison: comparison.summaries(),
                measurements: measurements.table
            )
        }
    }

    private init(
        _ batch: (description: BatchDescription, names: ShownNames),
        _ numbers: (counts: BatchCounts, noted: Int, incomplete: Int),
        _ unusual: UnusualValues,
        marks: [String: [ReviewMark]],
        comparison: [ComparisonSummary],
        measurements: MeasurementTable
    ) {
        (description, names) = batch
        counts = numbers.counts
        self.unusual = unusual
        self.marks = marks
        self.comparison = comparison
        self.measurements = measurements
        unusualOfItem = Dictionary(grouping: unusual.values, by: \.item)
        remarks = ReportRemarks(
            noted: numbers.noted,
            unusual: unusualOfItem.count,
            incomplete: numbers.incomplete
        )
    }

    /// How the report shows the items that follow `place` others.
    /// - Throws: `JournalError` for a damaged journal.
    package func items(_ records: [ItemRecord], from place: Int) throws(JournalError) -> [ReportedItem] {
        var items: [ReportedItem] = []
        for (offset, record) in records.enumerated() {
            items.append(item(record.item, try record.statistics(), at: place + offset))
        }
        return items
    }

    package func item(_ item: JournalItem, _ statistics: [Statistic], at place: Int) -> ReportedItem {
        ReportedItem(
            place: place,
            item: item,
            model: description.model(of: item),
            rows: BatchMeasure.Derived.with(statistics),
            unusual: unusualOfItem[place] ?? [],
            marks: marks[item.name] ?? [],
            names: ShownNames(description.identifiers, words: item.words)
        )
    }

    /// To two decimal places.
    package static func rounded(_ score: Double) -> Double { (score * 100).rounded() / 100 }

    /// The name of a state in the report about a run that has ended.
    static func name(of state: ItemState) -> String {
        state == .pending || state == .started ? "notReached" : state.rawValue
    }
}

extension BatchDescription {
    /// The id of the model that processes an item; empty for none.
    func model(of item: JournalItem) -> String {
        item.model.isEmpty && models.count == 1 ? models[0].id : item.model
    }
}
