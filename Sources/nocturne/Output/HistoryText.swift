import NocturneBatch
import NocturneCore

/// What `history` prints for a person.
enum HistoryText {
    static func text(_ history: BatchHistory) -> String {
        guard !history.entries.isEmpty else { return "No items." }
        let head = ["date", "subject", "batch", "item", "state", "result"]
        let rows = history.entries.map { entry in
            [
                entry.date.map { String($0.prefix(10)) } ?? "-", entry.subject ?? "-", entry.batch, entry.item,
                entry.state, entry.result,
            ]
        }
        var lines = [Terminal.table([head] + rows)]
        let courses = history.courses
        if !courses.isEmpty {
            let head = ["subject", "label", "measure", "values", "change"]
            let rows = courses.map { course in
                [
                    course.subject, course.label, unit(course), course.values.map(number).joined(separator: " → "),
                    (course.change > 0 ? "+" : "") + number(course.change),
                ]
            }
            lines += ["", "Over time, first to last:", Terminal.table([head] + rows)]
        }
        return (lines + ["", Disclaimer.text]).joined(separator: "\n")
    }

    private static func unit(_ course: BatchHistory.Course) -> String {
        course.unit.isEmpty || course.unit == "1" ? course.measure : "\(course.measure) (\(course.unit))"
    }

    /// Four decimal places at most.
    private static func number(_ value: Double) -> String { CSVField.number((value * 1e4).rounded() / 1e4) }
}
