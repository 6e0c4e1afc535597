import NocturneCore
package import NocturneJournal
import NocturneOutput

/// `time.csv`: the measures of the volumes of one file over time, one row for each label at each time.
package enum TimeTable {
    /// Measures of the image itself in a result for one of several volumes in a file: its number from 0, and its time in s.
    package static let timePoint = "timePoint"
    /// In seconds.
    package static let time = "time"

    private static let image = "image"
    /// With their units; that of intensities is in a separate column.
    private static let measures = [
        ("voxelCount", "voxelCount"), ("volume", "volumeMl"), ("intensityMean", "intensityMean"),
        ("intensityStandardDeviation", "intensityStandardDeviation"), ("intensityMinimum", "intensityMinimum"),
        ("intensityMaximum", "intensityMaximum"), ("intensityMedian", "intensityMedian"),
    ]

    /// The first line, with its line feed.
    package static let header =
        "source,model,timePoint,timeS,label," + measures.map(\.1).joined(separator: ",")
        + ",intensityUnit,item,disclaimer\n"

    /// Whether the rows are those of one of several volumes.
    package static func has(_ rows: [Statistic]) -> Bool {
        rows.contains { $0.label == image && $0.measure == timePoint }
    }

    /// The rows of an item; none if it is not one of several volumes.
    package static func lines(_ item: ReportedItem) -> String {
        let own = item.rows.filter { $0.label == image }
        guard let point = own.first(where: { $0.measure == timePoint })?.value else { return "" }
        let seconds = own.first { $0.measure == time }?.value
        // Labels in the order of the result, which the dictionary of their values does not keep.
        let names = Set(measures.map(\.0))
        var (labels, values): ([String], [String: [String: Statistic]]) = ([], [:])
        for row in item.rows where names.contains(row.measure) {
            if values[row.label] == nil { labels.append(row.label) }
            values[row.label, default: [:]][row.measure] = row
        }
        let first = [item.entry.source, item.model].map(CSVField.text)
        let when = [CSVField.number(point), seconds.map(CSVField.number) ?? ""]
        let last = [item.item.name, Disclaimer.short].map(CSVField.text)
        return labels.map { label in
            let found = values[label] ?? [:]
            let numbers = measures.map { found[$0.0]?.value.map(CSVField.number) ?? "" }
            // All measures of intensities of a label have the same unit.
            let unit = found["intensityMean"].map { CSVField.text($0.unit) } ?? ""
            return (first + when + [CSVField.text(label)] + numbers + [unit] + last).joined(separator: ",") + "\n"
        }
        .joined()
    }
}
