import NocturneCore
package import NocturneJournal
import NocturneOutput

/// `radiomics.csv`: the radiomic features of labels, one row for each label of an item on each of its images.
///
/// In the journal features are measures with a prefix. The other tables do not have them.
package struct RadiomicsTable: Sendable {
    /// On what a label was measured; the raw value is the prefix of its measures.
    package enum Image: String, Sendable, CaseIterable {
        case item = "radiomics:"
        /// The image of `--measure`.
        case second = "secondImageRadiomics:"

        /// In the table.
        fileprivate var name: String { self == .item ? "item" : "second image" }
    }

    private static let voxels = "voxels"
    private static let intensityVoxels = "intensityVoxels"

    /// Each feature on each image, in the order in which they first occur.
    package private(set) var measures: [String] = []
    /// Of all labels of all items.
    package private(set) var valueCount = 0
    /// The codes of the features, in the order of ``measures``. A feature of both images has one column; the image is a field of
    /// the row.
    private var columns: [String] = []
    private var known: Set<String> = []

    /// Without any feature.
    package init() {}

    /// Takes the next item of a batch, in the order of discovery.
    /// - Parameter rows: the features of an item alone, as `withoutFeatures` separates them.
    package mutating func add(_ rows: [Statistic]) {
        for row in rows where known.insert(row.measure).inserted {
            measures.append(row.measure)
            let code = String(Self.code(row.measure))
            if !columns.contains(code) { columns.append(code) }
        }
        valueCount += rows.count
    }

    /// The measures of one label.
    /// - Parameters:
    ///   - settings: the digest of the settings. Values with different settings are not comparable, so it is their unit.
    ///   - voxels: in the morphological mask and in the intensity mask.
    ///   - features: by the code of the standard.
    package static func rows(
        label: String,
        settings: String,
        voxels: (morphology: Int, intensity: Int),
        features: [(code: String, value: Double?)],
        of image: Image
    ) -> [Statistic] {
        let counts: [(String, Double?)] = [
            (Self.voxels, Double(voxels.morphology)), (intensityVoxels, Double(voxels.intensity)),
        ]
        return (counts + features).map {
            Statistic(label: label, measure: image.rawValue + $0.0, value: $0.1, unit: settings)
        }
    }

    /// Whether no item has features.
    package var isEmpty: Bool { columns.isEmpty }

    /// The first line, with its line feed.
    package var header: String {
        (["item,model,source,image,label,settings"] + columns.map(CSVField.text) + ["disclaimer\n"])
            .joined(separator: ",")
    }

    /// The rows of an item; none where it has no features.
    package func lines(_ item: ReportedItem) -> String {
        Image.allCases.map { image in
            let own = item.features.filter { $0.measure.hasPrefix(image.rawValue) }
            var (labels, values): ([String], [String: [Substring: Double]]) = ([], [:])
            for row in own {
                if values[row.label] == nil { labels.append(row.label) }
                values[row.label, default: [:]][Self.code(row.measure)] = row.value
            }
            let settings = own.first?.unit ?? ""
            return labels.map { label in
                let first = [item.item.name, item.model, item.entry.source, image.name, label, settings]
                let numbers = columns.map { values[label]?[$0[...]].map(CSVField.number) ?? "" }
                return (first.map(CSVField.text) + numbers + [CSVField.text(Disclaimer.short)]).joined(separator: ",")
                    + "\n"
            }
            .joined()
        }
        .joined()
    }

    /// The code of the standard in the name of a measure.
    package static func code(_ measure: String) -> Substring {
        for image in Image.allCases where measure.hasPrefix(image.rawValue) {
            return measure.dropFirst(image.rawValue.count)
        }
        return measure[...]
    }
}

extension [Statistic] {
    /// The rows of ``RadiomicsTable``, and the others.
    package var withoutFeatures: (rows: [Statistic], features: [Statistic]) {
        func isFeature(_ row: Statistic) -> Bool {
            RadiomicsTable.Image.allCases.contains { row.measure.hasPrefix($0.rawValue) }
        }
        // Of most items there are none.
        guard contains(where: isFeature) else { return (self, []) }
        return (filter { !isFeature($0) }, filter(isFeature))
    }
}
