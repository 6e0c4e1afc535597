import Foundation
import NocturneCore
public import NocturneJournal
package import NocturneSystem

/// The numbers of a batch. They add up to the inputs.
public struct BatchCounts: Sendable, Codable, Hashable {
    public var inputs = 0
    public var completed = 0
    public var failed = 0
    public var skipped = 0
    public var cancelled = 0
    public var quarantined = 0
    public var notReached = 0

    public init() {}

    public init(of items: [JournalItem]) {
        inputs = items.count
        for item in items {
            switch item.state {
            case .completed: completed += 1
            case .failed: failed += 1
            case .skipped: skipped += 1
            case .cancelled: cancelled += 1
            case .quarantined: quarantined += 1
            case .pending, .started: notReached += 1
            }
        }
    }
}

/// `batch.json`, `statistics.csv` and `retry.txt`: functions of the journal alone, with no time in them.
package struct BatchReport: Sendable {
    /// Of the form of `batch.json` and `statistics.csv`. 2 has unusual values, 3 the codes of reasons.
    package static let version = 3

    package let items: [JournalItem]
    /// The model of each item.
    package let models: [String]
    package let description: BatchDescription
    /// By items' places.
    package let rows: [[Statistic]]
    package let unusual: UnusualValues
    /// By the name of the item.
    package let marks: [String: [ReviewMark]]

    /// - Parameters:
    ///   - items: in the order of discovery.
    ///   - statistics: of completed items, by id.
    ///   - marks: of reviewers. Those of results that have changed since are left out.
    ///   - ranges: that values are expected in.
    package init(
        items: [JournalItem],
        statistics: [Int64: [Statistic]],
        description: BatchDescription,
        marks: [ReviewMark],
        ranges: [ReferenceRange] = []
    ) {
        self.items = items
        self.marks = Dictionary(grouping: marks.current(for: items), by: \.item)
        self.description = description
        rows = items.map { item in
            let own = statistics[item.id] ?? []
            return own + BatchMeasure.Derived.rows(of: own)
        }
        let only = description.models.count == 1 ? description.models[0].id : ""
        models = items.map { $0.model.isEmpty ? only : $0.model }
        unusual = UnusualValues(models: models, statistics: rows, ranges: ranges)
    }

    package struct Report: Codable {
        package struct Unusual: Codable, Equatable {
            package let label: String
            package let measure: String
            @Nullable package var value: Double?
            package let score: Double
            package let text: String
        }

        /// What a person has said about the result, or about one object in a photo.
        package struct Mark: Codable, Equatable {
            package let rater: String
            @Nullable package var object: String?
            package let verdict: ReviewVerdict
            package let comment: String
        }

        package struct Entry: Codable, Equatable {
            package let item: String
            package let state: String
            package let source: String
            /// Why it was not completed; null for completed items, as are code, stage and remedy.
            @Nullable package var reason: String?
            @Nullable package var code: String?
            /// Null for reasons outside the stages, such as a request of the user.
            @Nullable package var stage: String?
            @Nullable package var remedy: String?
            package let notes: [String]
            /// Measures that are far from the batch's median, the furthest first. No finding about a patient.
            package let unusual: [Unusual]
            /// In the order of objects and persons, the item as a whole first.
            package let marks: [Mark]

            /// For a person who compares two.
            package var text: String {
                let marks = marks.map { "\($0.verdict.rawValue) by \($0.rater)" }
                return
                    ([state, source, reason ?? "no reason", code ?? "no code", stage ?? "no stage"] + notes
                    + unusual.map { "\($0.label): \($0.text)" } + marks)
                    .joined(separator: "; ")
            }
        }
        package let schemaVersion: Int
        package let disclaimer: String
        package let version: String
        package let models: [BatchDescription.Model]
        package let options: [String: String]
        package let counts: BatchCounts
        package let items: [Entry]
    }

    /// Rewrites all of them, each in one step.
    func write(into output: OutputFolder) throws {
        try FileSystem.replace(output.report, with: try StableJSON.encode(report))
        try FileSystem.replace(output.statistics, with: Array(statisticsTable.utf8))
        try FileSystem.replace(output.retryList, with: Array(retryList.utf8))
        if let comparisonTable { try FileSystem.replace(output.comparison, with: Array(comparisonTable.utf8)) }
    }

    /// The content of `batch.json`.
    package var report: Report {
        let identifiers = description.identifiers
        let unusual = Dictionary(grouping: unusual.values, by: \.item)
        return Report(
            schemaVersion: Self.version,
            disclaimer: Disclaimer.text,
            version: description.version,
            models: description.models,
            options: description.options.mapValues {
                // Folders that were given as options may have names of inputs.
                $0.hasPrefix("/") ? identifiers.shown($0) : $0
            },
            counts: BatchCounts(of: items),
            items: items.enumerated().map { place, item in
                let code = BatchReport.code(of: item)
                return Report.Entry(
                    item: item.name,
                    state: BatchReport.name(of: item.state),
                    source: identifiers.shown(item.path),
                    reason: item.reason.map { identifiers.shown(in: $0.text, of: [item.path]) },
                    code: code?.rawValue,
                    stage: item.reason?.stage,
                    remedy: code.map(Remedies.remedy),
                    // The recipes have done the same to notes, which are in the items' own results, too.
                    notes: item.notes,
                    unusual: (unusual[place] ?? []).map {
                        Report.Unusual(
                            label: $0.label,
                            measure: $0.measure,
                            value: $0.value,
                            score: Self.rounded($0.score),
                            text: $0.text
                        )
                    },
                    marks: (marks[item.name] ?? []).map {
                        Report.Mark(rater: $0.rater, object: $0.object, verdict: $0.verdict, comment: $0.comment)
                    }
                )
            }
        )
    }

    /// The content of `retry.txt`: every input that is to be tried again, once, as `--list` reads it, with the reason before
    /// it as a comment.
    package var retryList: String {
        var seen: Set<String> = []
        return items.filter { ![.completed, .skipped].contains($0.state) && seen.insert($0.path).inserted }.map {
            item in
            let comment = item.reason.map { reason in
                let stage = reason.stage.map { " (\($0))" } ?? ""
                let text = "# \(reason.code)\(stage): \(reason.text). \(Remedies.remedy(for: reason.code))"
                return EventText.printable(text).replacing("\n", with: " ") + "\n"
            }
            return (comment ?? "") + InputList.line(for: item.path) + "\n"
        }
        .joined()
    }

    /// The content of `statistics.csv`. The last columns have the robust z-score of unusual values, and the verdicts of
    /// reviewers on the item as a whole.
    var statisticsTable: String {
        var text = "item,label,measure,value,unit,unusual,verdict,disclaimer\n"
        let unusual = Dictionary(grouping: unusual.values, by: \.item)
        for (place, item) in items.enumerated() {
            let own = unusual[place] ?? []
            let verdicts = Set((marks[item.name] ?? []).filter { $0.object == nil }.map(\.verdict.rawValue)).sorted()
            for row in rows[place] {
                let score = own.first { $0.label == row.label && $0.measure == row.measure }?.score
                text +=
                    CSVField.text(item.name) + "," + CSVField.text(row.label) + "," + CSVField.text(row.measure) + ","
                text += (row.value.map(CSVField.number) ?? "") + "," + CSVField.text(row.unit) + ","
                text +=
                    (score.map { CSVField.number(Self.rounded($0)) } ?? "") + "," + verdicts.joined(separator: " ")
                    + "," + CSVField.text(Disclaimer.short) + "\n"
            }
        }
        return text
    }

    /// The content of `comparison.csv`: over all compared items, for each model, label and measure; nil when nothing was
    /// compared with references.
    var comparisonTable: String? {
        let summaries = ComparisonSummary.all(models: models, names: items.map(\.name), rows)
        guard !summaries.isEmpty else { return nil }
        var text = Self.comparisonHeader + "\n"
        for summary in summaries {
            text += [CSVField.text(summary.model), CSVField.text(summary.label), summary.measure, summary.unit].joined(
                separator: ","
            )
            text +=
                ",\(summary.count),\(CSVField.number(summary.mean)),\(CSVField.number(summary.median)),\(CSVField.number(summary.worst)),"
            text += CSVField.text(summary.worstItems.joined(separator: " ")) + "\n"
        }
        return text
    }

    static let comparisonHeader = "model,label,measure,unit,items,mean,median,worst,worstItems"

    /// To two decimal places.
    package static func rounded(_ score: Double) -> Double { (score * 100).rounded() / 100 }

    /// Of the reason; an item that was never started has none, and a code nevertheless.
    static func code(of item: JournalItem) -> FaultCode? {
        item.state == .completed ? nil : item.reason?.code ?? .notReached
    }

    /// The name of a state in the report about a run that has ended.
    static func name(of state: ItemState) -> String {
        state == .pending || state == .started ? "notReached" : state.rawValue
    }
}
