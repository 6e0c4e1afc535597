import NocturneBatch
import NocturneJournal
import NocturneSystem

/// Items without a result, as lines of text.
enum FailureText {
    /// So many items of one kind are listed one by one.
    private static let mostItems = 20

    /// A line for each item, and for each kind of reason a line on what can be done; the most frequent kind first.
    static func lines(_ failures: [StatusReport.Failure]) -> [String] {
        let groups = Dictionary(grouping: failures) { $0.code ?? "" }
        return groups.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.flatMap { code, items in
            let count = items.count == 1 ? "1 item" : "\(items.count) items"
            let head = "\(code) (\(count)): \(items[0].remedy ?? "")"
            let shown = items.prefix(mostItems).map { "  \($0.state) \($0.item): \($0.reason ?? "")" }
            let rest = items.count - shown.count
            return [head] + shown + (rest > 0 ? ["  and \(rest) more, which --json and batch.json list"] : [])
        }
    }
}

extension StatusReport.Failure {
    init(_ item: JournalItem) {
        self.init(
            item: item.name,
            state: item.state.rawValue,
            reason: item.reason?.text,
            code: item.reason?.code.rawValue,
            stage: item.reason?.stage,
            remedy: item.reason.map { Remedies.remedy(for: $0.code) }
        )
    }
}
