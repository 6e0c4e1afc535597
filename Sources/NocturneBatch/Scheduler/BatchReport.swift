import Foundation
import NocturneCore
public import NocturneJournal
import NocturneSystem

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
struct BatchReport: Sendable {
    /// In the order of discovery.
    let items: [JournalItem]
    /// Of completed items, by id.
    let statistics: [Int64: [Statistic]]
    let description: BatchDescription

    struct Report: Codable {
        struct Entry: Codable, Equatable {
            let item: String
            let state: String
            let source: String
            @Nullable var reason: String?
            let notes: [String]

            /// For a person who compares two.
            var text: String { ([state, source, reason ?? "no reason"] + notes).joined(separator: "; ") }
        }
        let schemaVersion: Int
        let disclaimer: String
        let version: String
        let models: [BatchDescription.Model]
        let options: [String: String]
        let counts: BatchCounts
        let items: [Entry]
    }

    /// Rewrites all three, each in one step.
    func write(into output: OutputFolder) throws {
        try FileSystem.replace(output.report, with: try StableJSON.encode(report))
        try FileSystem.replace(output.statistics, with: Array(statisticsTable.utf8))
        try FileSystem.replace(output.retryList, with: Array(retryList.utf8))
    }

    /// The content of `batch.json`.
    var report: Report {
        let identifiers = description.identifiers
        return Report(
            schemaVersion: 1,
            disclaimer: Disclaimer.text,
            version: description.version,
            models: description.models,
            options: description.options.mapValues {
                // Folders that were given as options may have names of inputs.
                $0.hasPrefix("/") ? identifiers.shown($0) : $0
            },
            counts: BatchCounts(of: items),
            items: items.map { item in
                Report.Entry(
                    item: item.name,
                    state: BatchReport.name(of: item.state),
                    source: identifiers.shown(item.path),
                    reason: item.reason.map { identifiers.shown(in: $0, of: [item.path]) },
                    // The recipes have done the same to notes, which are in the items' own results, too.
                    notes: item.notes
                )
            }
        )
    }

    /// The content of `retry.txt`: every input that is to be tried again, once, as `--list` reads it.
    var retryList: String {
        let paths = items.filter { ![.completed, .skipped].contains($0.state) }.map(\.path)
        var seen: Set<String> = []
        return paths.filter { seen.insert($0).inserted }.map { InputList.line(for: $0) + "\n" }.joined()
    }

    /// The content of `statistics.csv`.
    var statisticsTable: String {
        var text = "item,label,measure,value,unit\n"
        for item in items {
            for row in statistics[item.id] ?? [] {
                text += csv(item.name) + "," + csv(row.label) + "," + csv(row.measure) + ","
                text += (row.value.map(number) ?? "") + "," + csv(row.unit) + "\n"
            }
        }
        return text
    }

    /// The fewest digits that read back to the same number; whole numbers without a point.
    private func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    /// A field of comma-separated values, quoted where it must be (RFC 4180).
    ///
    /// Names of regions and segments come from other people's files, and spreadsheets run what begins like a formula: such
    /// a name gets an apostrophe in front.
    private func csv(_ name: String) -> String {
        let isFormula = name.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
        let field = isFormula ? "'" + name : name
        guard field.contains(where: { ",\"\n\r".contains($0) }) else { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
    }

    /// The name of a state in the report about a run that has ended.
    static func name(of state: ItemState) -> String {
        state == .pending || state == .started ? "notReached" : state.rawValue
    }
}
