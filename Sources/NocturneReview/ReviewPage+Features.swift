import NocturneJournal
import NocturneRadiomics
import NocturneReport

/// All radiomic features, for plots of those that a reviewer chooses.
///
/// They are in separate files, one for each file of items: a label has hundreds of features, and the page loads them only
/// when one is chosen.
extension ReviewPage {
    /// Values in a page's files: about 25 MB. A batch with more has them in `radiomics.csv` only.
    private static let mostFeatureValues = 2_000_000

    /// Whether the page has the values of this table, which may be none.
    static func hasFeatures(_ table: RadiomicsTable) -> Bool { table.valueCount <= mostFeatureValues }

    /// A feature on one image, in the file about the batch.
    struct Feature: Encodable {
        let measure: String
        let title: String
    }

    /// The features of some items.
    struct Features: Encodable {
        struct Row: Encodable {
            let item: String
            let label: String
            /// The digest of the settings.
            let unit: String
            /// For each measure; in single precision, which the page shows three digits of.
            var values: [Float?]
        }

        let measures: [String]
        let rows: [Row]
    }
}

extension ReviewPage.Feature {
    /// Empty where the page has no features, or too many.
    static func all(of table: RadiomicsTable) -> [ReviewPage.Feature] {
        guard ReviewPage.hasFeatures(table) else { return [] }
        return table.measures.map { measure in
            let code = String(RadiomicsTable.code(measure))
            let name = Radiomics.feature(code: code).map { "\($0.title) (\($0.name))" } ?? code
            let isSecond = measure.hasPrefix(RadiomicsTable.Image.second.rawValue)
            return Self(measure: measure, title: isSecond ? "second image: \(name)" : name)
        }
    }
}

extension ReviewPage.Features {
    init(_ items: [ReportedItem]) {
        var places: [String: Int] = [:]
        for row in items.flatMap(\.features) where places[row.measure] == nil { places[row.measure] = places.count }
        measures = places.sorted { $0.value < $1.value }.map(\.key)
        rows = items.flatMap { item -> [Row] in
            var rows: [Row] = []
            // Those of a label follow each other.
            for row in item.features {
                if rows.last?.label != row.label || rows.last?.unit != row.unit {
                    let values = [Float?](repeating: nil, count: places.count)
                    rows.append(Row(item: item.entry.item, label: row.label, unit: row.unit, values: values))
                }
                if let place = places[row.measure] { rows[rows.count - 1].values[place] = row.value.map { Float($0) } }
            }
            return rows
        }
    }
}
