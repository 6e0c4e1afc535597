import NocturneCore
package import NocturneJournal
import NocturneOutput

/// A measure of one label in one unit, by which values of different items are put together: values in different units never are.
package struct MeasureKey: Hashable, Sendable {
    /// Empty where the models do not matter.
    package let model: String
    /// The name of the label, class or region.
    package let label: String
    /// As in `statistics.csv`.
    package let measure: String
    /// Intensities of PET are standardized uptake values in some items and values of the image in others.
    package let unit: String

    /// - Parameter model: empty to put the values of all models together.
    package init(_ row: Statistic, of model: String = "") {
        (self.model, label, measure, unit) = (model, row.label, row.measure, row.unit)
    }

    /// `kidney volume [ml]`.
    package var title: String { "\(label) \(measure)" + (unit == "1" ? "" : " [\(unit)]") }
}

/// The columns of `measurements.csv`, which has one row an item: every measure of every label of the batch, but for
/// histograms.
package struct MeasurementTable: Sendable {
    /// Of items; what comes after them are measures.
    package static let firstColumns = "item,state,model,source,verdict"
    /// A batch in which every item has different regions would make a table that nobody can open: what does not fit is in
    /// `statistics.csv` alone.
    package static let mostColumns = 4096

    /// In the order in which they first occur in the batch.
    package private(set) var columns: [MeasureKey] = []
    private var known: Set<MeasureKey> = []

    /// Without any column.
    package init() {}

    /// Adds the columns that an item has and no item before it, in the order of discovery. Histograms have too many values for
    /// columns.
    package mutating func add(_ rows: [Statistic]) {
        for row in rows where columns.count < Self.mostColumns && !row.measure.hasPrefix("histogram") {
            let column = MeasureKey(row)
            if known.insert(column).inserted { columns.append(column) }
        }
    }

    /// The first line, with its line feed.
    package var header: String {
        ([Self.firstColumns] + columns.map { CSVField.text($0.title) } + ["disclaimer\n"]).joined(separator: ",")
    }

    /// The row of an item; empty fields for measures that it does not have.
    package func line(_ item: ReportedItem) -> String {
        let values = Dictionary(item.rows.map { (MeasureKey($0), $0.value) }) { first, _ in first }
        let entry = item.entry
        let first = [item.item.name, entry.state, item.model, entry.source, item.verdicts].map(CSVField.text)
        let measures = columns.map { values[$0].flatMap { $0 }.map(CSVField.number) ?? "" }
        return (first + measures + [CSVField.text(Disclaimer.short)]).joined(separator: ",") + "\n"
    }
}
