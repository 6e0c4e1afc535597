import NocturneCore
package import NocturneJournal

/// The columns of `measurements.csv`, which has one row an item: every measure of every label of the batch, but for
/// histograms.
package struct MeasurementTable: Sendable {
    /// A measure of one label in one unit: values in different units are never in the same column.
    package struct Column: Hashable, Sendable {
        package let label: String
        package let measure: String
        package let unit: String

        init(_ row: Statistic) {
            label = row.label
            measure = row.measure
            unit = row.unit
        }

        /// `kidney volume [ml]`.
        package var title: String { "\(label) \(measure)" + (unit == "1" ? "" : " [\(unit)]") }
    }

    /// Of items; what comes after them are measures.
    package static let firstColumns = "item,state,model,source,verdict"
    /// A batch in which every item has regions of its own would make a table that nobody can open: what does not fit is in
    /// `statistics.csv` alone.
    package static let mostColumns = 4096

    package let columns: [Column]

    /// Takes the items of a batch in the order of discovery.
    package struct Collector: Sendable {
        private var columns: [Column] = []
        private var known: Set<Column> = []

        package init() {}

        package mutating func add(_ rows: [Statistic]) {
            for row in rows where columns.count < mostColumns && !row.measure.hasPrefix("histogram") {
                let column = Column(row)
                if known.insert(column).inserted { columns.append(column) }
            }
        }

        package var table: MeasurementTable { MeasurementTable(columns: columns) }
    }

    package var header: String {
        ([Self.firstColumns] + columns.map { CSVField.text($0.title) } + ["disclaimer\n"]).joined(separator: ",")
    }

    package func line(_ item: ReportedItem) -> String {
        let values = Dictionary(item.rows.map { (Column($0), $0.value) }) { first, _ in first }
        let entry = item.entry
        let first = [item.item.name, entry.state, item.model, entry.source, item.verdicts].map(CSVField.text)
        let measures = columns.map { values[$0].flatMap { $0 }.map(CSVField.number) ?? "" }
        return (first + measures + [CSVField.text(Disclaimer.short)]).joined(separator: ",") + "\n"
    }
}
