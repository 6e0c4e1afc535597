package import NocturneJournal

/// What the report says about the batch as a whole, and how it shows one item. The files of the report are functions of the
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

    package let description: BatchDescription
    package let counts: BatchCounts
    package let remarks: ReportRemarks
    package let unusual: UnusualValues
    /// The marks of reviewers about results as they are now, by the name of the item.
    package let marks: [String: [ReviewMark]]
    /// Titles and authors of objects in results as they are now, by the id of the item.
    private let texts: [Int64: [Int: ObjectText]]
    /// Over all compared items, for each model, label and measure.
    package let comparison: [ComparisonSummary]
    package let notCompared: NotCompared
    package let measurements: MeasurementTable
    /// Whether some items are volumes of one file over time.
    package let hasTime: Bool
    /// How the batch shows names that belong to no item.
    let names: ShownNames
    /// Of one item, by its place: the most unusual first.
    private let unusualOfItem: [Int: [UnusualValues.Value]]

    /// Completed items that could not be compared with their references.
    package struct NotCompared: Sendable {
        package fileprivate(set) var count = 0
        /// The first ones, by their places, each with its note.
        package fileprivate(set) var first: [(place: Int, item: String, note: String)] = []
        fileprivate static let most = 100
    }

    /// What is counted of completed items by their notes.
    fileprivate struct Numbers {
        var noted = 0
        var incomplete = 0
        var byNumber = 0
        var notCompared = NotCompared()
        var hasTime = false
        /// How many items there were before, completed or not.
        var place = 0

        mutating func add(_ item: JournalItem) {
            guard !item.notes.isEmpty else { return }
            noted += 1
            if item.notes.contains(where: MissingOutput.isOne) { incomplete += 1 }
            if item.notes.contains(where: ComparisonNote.isByNumber) { byNumber += 1 }
            guard let note = item.notes.first(where: ComparisonNote.isNotCompared) else { return }
            notCompared.count += 1
            if notCompared.first.count < NotCompared.most { notCompared.first.append((place, item.name, note)) }
        }
    }

    /// Takes the items of a batch in the order of discovery.
    package struct Collector {
        private let description: BatchDescription
        private var counts = BatchCounts()
        private var numbers = Numbers()
        private var words: Set<String> = []
        private var unusual: UnusualValues.Collector
        private var comparison = ComparisonSummary.Collector()
        private var measurements = MeasurementTable.Collector()
        private let marks: [String: [ReviewMark]]
        private var currentMarks: [String: [ReviewMark]] = [:]
        private let texts: [String: [ObjectText]]
        private var currentTexts: [Int64: [Int: ObjectText]] = [:]

        /// - Parameters:
        ///   - additions: of people and other tools. Those about results that have changed since are left out.
        ///   - ranges: that values are expected in.
        package init(_ description: BatchDescription, _ additions: ResultAdditions, ranges: [ReferenceRange]) {
            self.description = description
            marks = Dictionary(grouping: additions.marks, by: \.item)
            texts = Dictionary(grouping: additions.texts, by: \.item)
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
                numbers.add(item)
            }
            numbers.hasTime = numbers.hasTime || TimeTable.has(statistics)
            numbers.place += 1
            words.formUnion(item.words)
            let current = (marks[item.name] ?? []).filter { $0.fingerprint == item.fingerprint }
            if !current.isEmpty { currentMarks[item.name] = current }
            if let own = texts[item.name] { currentTexts.merge(own.current(for: [item])) { first, _ in first } }
        }

        /// - Complexity: O(n log n) for n values.
        package consuming func report() -> BatchReport {
            BatchReport(
                (description, ShownNames(description.identifiers, words: words)),
                (counts, numbers),
                unusual.values(),
                (currentMarks, currentTexts),
                comparison: comparison.summaries(),
                measurements: measurements.table
            )
        }
    }

    private init(
        _ batch: (description: BatchDescription, names: ShownNames),
        _ numbers: (counts: BatchCounts, completed: Numbers),
        _ unusual: UnusualValues,
        _ additions: (marks: [String: [ReviewMark]], texts: [Int64: [Int: ObjectText]]),
        comparison: [ComparisonSummary],
        measurements: MeasurementTable
    ) {
        (description, names) = batch
        counts = numbers.counts
        self.unusual = unusual
        (marks, texts) = additions
        self.comparison = comparison
        self.measurements = measurements
        unusualOfItem = Dictionary(grouping: unusual.values, by: \.item)
        notCompared = numbers.completed.notCompared
        hasTime = numbers.completed.hasTime
        remarks = ReportRemarks(
            noted: numbers.completed.noted,
            unusual: unusualOfItem.count,
            incomplete: numbers.completed.incomplete,
            notCompared: notCompared.count,
            comparedByNumber: numbers.completed.byNumber
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
            texts: texts[item.id] ?? [:],
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

/// What people and other tools have said about results.
package struct ResultAdditions: Sendable {
    package var marks: [ReviewMark] = []
    package var texts: [ObjectText] = []

    package init(marks: [ReviewMark] = [], texts: [ObjectText] = []) { (self.marks, self.texts) = (marks, texts) }
}

extension BatchDescription {
    /// The id of the model that processes an item; empty for none.
    func model(of item: JournalItem) -> String { models.id(of: item) }
}

extension [BatchDescription.Model] {
    /// The id of the model that processes an item; empty for none. A batch of an earlier version names none where it has one.
    func id(of item: JournalItem) -> String { item.model.isEmpty && count == 1 ? self[0].id : item.model }
}
