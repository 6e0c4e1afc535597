import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipes
import NocturneReport
import NocturneSystem

/// What `compare` prints.
struct ComparisonReport: Encodable {
    struct StateChange: Encodable {
        let item: String
        let first: String
        let second: String
    }

    struct NotCompared: Encodable {
        let item: String
        let reason: String
    }

    let disclaimer = Disclaimer.text
    let items: Int
    let onlyFirst: [String]
    let onlySecond: [String]
    /// Labels whose measures only the first batch has, so that they are not compared.
    let labelsOnlyFirst: [String]
    /// Likewise of the second batch.
    let labelsOnlySecond: [String]
    let changedStates: [StateChange]
    /// Items whose source files changed between the batches. Their values count, since a file with another time may have the same content.
    let changedSources: [String]
    /// Pairs whose label maps could not be compared.
    let notCompared: [NotCompared]
    let agreement: [ComparisonSummary]
    let changes: [BatchComparison.Change]
    private let rows: [BatchComparison.Row]
    /// Whether a measure of a label or class has a value in both batches.
    private let hasMeasures: Bool

    private enum CodingKeys: String, CodingKey {
        case disclaimer, items, onlyFirst, onlySecond, labelsOnlyFirst, labelsOnlySecond
        case changedStates, changedSources, notCompared, agreement, changes
    }

    /// Reads the label maps of one pair after the other.
    /// - Parameter changedSources: the names of items whose source files changed between the batches.
    init(_ comparison: BatchComparison, changedSources: [String], scope: ComputeScope) throws {
        self.changedSources = changedSources
        let (first, second) = (comparison.first, comparison.second)
        let results = RecipeResults()
        var notCompared: [NotCompared] = []
        var agreements: [(name: String, rows: [Statistic])] = []
        // Only two finished results have label maps to compare; one after the other, since a map takes much memory.
        for pair in comparison.pairs where pair.areCompleted {
            let folders = (first.output.item(pair.first.name), second.output.item(pair.second.name))
            let (measures, problem) = try results.agreement(folders.0, folders.1, scope: scope)
            if let problem { notCompared.append(NotCompared(item: pair.name, reason: problem)) }
            agreements.append((pair.name, measures))
        }
        items = comparison.pairs.count
        onlyFirst = comparison.onlyFirst
        onlySecond = comparison.onlySecond
        (labelsOnlyFirst, labelsOnlySecond) = comparison.labelsOfOne
        changedStates = comparison.changedStates.map {
            StateChange(item: $0.name, first: $0.first.state.rawValue, second: $0.second.state.rawValue)
        }
        self.notCompared = notCompared
        var agreement = ComparisonSummary.Collector()
        // Without the model: the two batches may have different ones, and the agreement concerns both.
        for (name, rows) in agreements { agreement.add(model: "", name: name, rows) }
        self.agreement = agreement.summaries()
        // Values of both results, item by item.
        let measured = comparison.pairs.flatMap(comparison.rows)
        changes = BatchComparison.changes(measured)
        hasMeasures = measured.contains { $0.value != nil && !$0.isOfSource }
        rows =
            agreements.flatMap { name, rows in
                rows.map { BatchComparison.Row(item: name, MeasureKey($0), value: $0.value) }
            } + measured
    }

    /// Every value: one row for each item, label and measure.
    var table: String {
        var text = "item,label,measure,unit,first,second,value,disclaimer\n"
        for row in rows {
            let names = [row.item, row.key.label, row.key.measure, row.key.unit].map(CSVField.text)
            let numbers = [row.first, row.second, row.value].map { $0.map(CSVField.number) ?? "" }
            text += (names + numbers + [CSVField.text(Disclaimer.short)]).joined(separator: ",") + "\n"
        }
        return text
    }

    var text: String {
        var lines = ["\(counted(items, "item")) \(items == 1 ? "is" : "are") in both batches."]
        for (names, place) in [(onlyFirst, "first"), (onlySecond, "second")] where !names.isEmpty {
            lines.append("\(names.count) only in the \(place): \(listed(names, most: 5))")
        }
        for (names, place) in [(labelsOnlyFirst, "first"), (labelsOnlySecond, "second")] where !names.isEmpty {
            lines.append("Measured only in the \(place): \(listed(names, most: 5))")
        }
        lines += changedStates.map { "\($0.item): \($0.first) in the first, \($0.second) in the second" }
        if !changedSources.isEmpty {
            let (count, names) = (counted(changedSources.count, "item"), listed(changedSources, most: 5))
            lines.append("The source of \(count) differs between the batches: \(names)")
        }
        lines += notCompared.map { "\($0.item): label maps not compared: \($0.reason)" }
        if !agreement.isEmpty {
            let head = ["label", "measure", "items", "mean", "median", "worst", "worst item"]
            let rows = agreement.map {
                [
                    $0.label, MeasureText.title($0.measure, $0.unit), "\($0.count)", MeasureText.number($0.mean),
                    MeasureText.number($0.median),
                    MeasureText.number($0.worst), $0.worst == $0.median ? "" : $0.worstItems.first ?? "",
                ]
            }
            // Before the measures, which differ where the maps do.
            lines += ["", "Agreement of the label maps:", Terminal.table([head] + rows)]
        }
        if items == 0 {
            lines.append(
                "Nothing was compared, since the batches have no input in common. Give two batches of the same inputs."
            )
        } else if changes.isEmpty {
            // Stated, since an empty table could also mean that nothing was measured.
            lines.append(
                hasMeasures
                    ? "No measure differs."
                    : "No measure was compared, since no item has a measure of the same label in both batches. "
                        + "Give two batches of models whose labels have the same names."
            )
        } else {
            let head = ["label", "measure", "items", "mean", "median", "largest", "item"]
            // Histograms are in the table and in JSON.
            let rows = changes.filter { !$0.measure.hasPrefix("histogram") }.map {
                [
                    $0.label, MeasureText.title($0.measure, $0.unit), "\($0.items)",
                    MeasureText.number($0.meanDifference),
                    MeasureText.number($0.medianDifference), MeasureText.number($0.largestDifference), $0.largestItem,
                ]
            }
            lines += ["", "Measures, second minus first:", Terminal.table([head] + rows)]
        }
        return (lines + ["", disclaimer]).joined(separator: "\n")
    }
}

/// Names and values of measures in tables for a person.
enum MeasureText {
    /// With the unit, unless the measure has none.
    static func title(_ measure: String, _ unit: String) -> String {
        unit.isEmpty || unit == "1" ? measure : "\(measure) (\(unit))"
    }

    /// Four decimal places at most, or four significant digits where that is finer.
    static func number(_ value: Double) -> String {
        let scale = abs(value) * 100
        return CSVField.number(scale < 0.1 ? value.roundedForResults(scale: scale) : (value * 1e4).rounded() / 1e4)
    }
}
