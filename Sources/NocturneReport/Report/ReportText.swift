import NocturneCore
import NocturneJournal
package import NocturneOutput
import NocturneSystem

/// The text of the files of the report, in parts.
package struct ReportText {
    /// What follows in each file.
    package struct Part {
        private var texts: [File: [UInt8]]

        fileprivate init(_ texts: [File: [UInt8]]) { self.texts = texts }

        /// The bytes that follow in a file; none for a file that has nothing here.
        package subscript(_ file: File) -> [UInt8] { texts[file] ?? [] }
    }

    /// The content of `batch.json`, but for the items.
    package struct Head: Codable {
        /// Of `batch.json`.
        fileprivate static let schemaVersion = 3

        /// Raised when a member changes its meaning or goes.
        package let schemaVersion: Int
        /// With a further sentence where a model is a demonstration.
        package let disclaimer: String
        /// Of the program that has described the batch.
        package let version: String
        /// Those of all recipes.
        package let models: [BatchDescription.Model]
        /// By command-line names. Folders are shown as the policy for names has them.
        package let options: [String: String]
        /// Of all items, by their states.
        package let counts: BatchCounts
        /// Empty in a report that is written: items follow in parts.
        package let items: [ReportedItem.Entry]
    }

    static let statisticsHeader = "item,label,measure,value,unit,unusual,verdict,model,source,disclaimer\n"
    /// The first line of `comparison.csv`, without its line feed.
    package static let comparisonHeader = "model,label,measure,unit,items,mean,median,worst,worstItems"

    private let report: BatchReport
    private var list: StableJSON.List
    /// The last path in the list of inputs to try again.
    private var retried: String?

    /// - Throws: an error of the encoder, for a value that JSON does not have.
    package init(_ report: BatchReport) throws {
        self.report = report
        list = try StableJSON.List(Head(report), list: "items")
    }

    /// What is before the first item.
    package var beginning: Part {
        Part([
            .batch: list.beginning,
            .statistics: Array(Self.statisticsHeader.utf8),
            .measurements: Array(report.measurements.header.utf8),
            .time: Array(TimeTable.header.utf8),
            .radiomics: Array(report.radiomics.header.utf8),
        ])
    }

    /// What is after the last item.
    package var end: Part { Part([.batch: list.end, .comparison: Array(comparisonTable.utf8)]) }

    /// The text of the next items. To be called in the order of discovery: `retry.txt` names each input once.
    package mutating func part(_ items: [ReportedItem]) throws -> Part {
        Part([
            .batch: try list.part(items.map(\.entry)),
            .statistics: Array(items.map(\.statisticsLines).joined().utf8),
            .measurements: Array(items.map(report.measurements.line).joined().utf8),
            .time: Array(items.map(TimeTable.lines).joined().utf8),
            .radiomics: Array(items.map(report.radiomics.lines).joined().utf8),
            .retryList: Array(retryLines(items.map(\.item)).utf8),
        ])
    }

    /// Every input that is to be tried again, as `--list` reads it, with the reason before it as a comment. Items of one input follow
    /// each other, and it is listed once, or once for each model: a set of a million paths would take most of the memory of a report.
    private mutating func retryLines(_ items: [JournalItem]) -> String {
        var text = ""
        for item in items where ![.completed, .skipped].contains(item.state) && item.path != retried {
            retried = item.path
            if let reason = item.reason {
                let stage = reason.stage.map { " (\($0))" } ?? ""
                let comment = "# \(reason.code)\(stage): \(reason.text). \(reason.code.remedy)"
                text += EventText.printable(comment).replacing("\n", with: " ") + "\n"
            }
            // By a name that cannot be used the file is not found, and the whole list would be refused.
            text += (item.reason?.code == .unusableName ? "# " : "") + InputList.line(for: item.path) + "\n"
        }
        return text
    }

    private var comparisonTable: String {
        Self.comparisonHeader + "\n" + report.comparison.map(\.line).joined() + notComparedLine
    }

    /// In `comparison.csv`: how many items, and their names, of 100 at most; empty where all were compared.
    private var notComparedLine: String {
        let (count, names) = (report.remarks.notCompared, report.notCompared.map(\.item))
        return count == 0 ? "" : ",,notCompared,,\(count),,,,\(CSVField.text(names.joined(separator: " ")))\n"
    }
}

extension ReportText.Head {
    /// The head without items.
    package init(_ report: BatchReport) {
        self.init(
            schemaVersion: Self.schemaVersion,
            disclaimer: Disclaimer.marked(
                isDemonstration: report.description.models.contains { $0.demonstration == true }
            ),
            version: report.description.version,
            models: report.description.models,
            options: report.description.options.mapValues {
                // Folders that were given as options may have names of inputs.
                $0.hasPrefix("/") ? report.names.shown($0) : $0
            },
            counts: report.counts,
            items: []
        )
    }
}

extension ReportedItem {
    /// Of reviewers on the item as a whole, in alphabetical order.
    package var verdicts: String {
        Set(marks.filter { $0.object == nil }.map(\.verdict.rawValue)).sorted().joined(separator: " ")
    }

    /// In `statistics.csv`. The last columns have the robust z-score of unusual values, and the verdicts of reviewers on the
    /// item as a whole.
    fileprivate var statisticsLines: String {
        let end =
            [verdicts, model, entry.source, Disclaimer.short].map { "," + CSVField.text($0) }
            .joined() + "\n"
        let name = CSVField.text(item.name)
        return rows.map { row in
            let score = unusual.first { $0.label == row.label && $0.measure == row.measure }?.score
            let fields = [
                name, CSVField.text(row.label), CSVField.text(row.measure), row.value.map(CSVField.number) ?? "",
                CSVField.text(row.unit), score.map { CSVField.number(BatchReport.rounded($0)) } ?? "",
            ]
            return fields.joined(separator: ",") + end
        }
        .joined()
    }
}

extension ComparisonSummary {
    /// In `comparison.csv`.
    fileprivate var line: String {
        let fields = [
            CSVField.text(model), CSVField.text(label), measure, unit, "\(count)", CSVField.number(mean),
            CSVField.number(median), CSVField.number(worst), CSVField.text(worstItems.joined(separator: " ")),
        ]
        return fields.joined(separator: ",") + "\n"
    }
}

extension ReportText {
    /// A file of the report that is made from the journal.
    package enum File: CaseIterable {
        case batch
        // Lists of lines.
        case statistics, measurements, retryList, comparison, time, radiomics

        /// Whether a report has the file; one that it does not have is removed.
        func belongs(to report: BatchReport) -> Bool {
            switch self {
            case .batch, .statistics, .measurements, .retryList: true
            case .comparison: !report.comparison.isEmpty || !report.notCompared.isEmpty
            case .time: report.hasTime
            case .radiomics: !report.radiomics.isEmpty
            }
        }

        /// Where the file is.
        package func path(in output: OutputFolder) -> String {
            switch self {
            case .batch: output.report
            case .statistics: output.statistics
            case .measurements: output.measurements
            case .retryList: output.retryList
            case .comparison: output.comparison
            case .time: output.timeTable
            case .radiomics: output.radiomics
            }
        }
    }
}
