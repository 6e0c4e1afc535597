import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import Testing

@Suite("Agreement with references over a batch")
struct ComparisonSummaryTests {
    @Test("The worst volume difference is the one furthest from 0, the worst Dice the lowest")
    func worst() throws {
        var collector = ComparisonSummary.Collector()
        for (name, difference, dice) in [("a", 5.0, 0.9), ("b", -8.0, 0.5), ("c", 0.0, 0.7), ("d", 8.0, 0.8)] {
            collector.add(
                model: "m",
                name: name,
                [
                    Statistic(label: "liver", measure: "volumeDifference", value: difference, unit: "ml"),
                    Statistic(label: "liver", measure: "dice", value: dice, unit: "1"),
                ]
            )
        }
        let summaries = collector.summaries()
        #expect(summaries.map(\.measure) == ["dice", "volumeDifference"])
        #expect(summaries.map(\.worstItems) == [["b", "c", "d", "a"], ["b", "d", "a", "c"]])
        #expect(summaries.map(\.worst) == [0.5, -8] && summaries.map(\.median) == [0.75, 2.5])
    }

    /// The report about items with a Dice coefficient each; nil for one that could not be compared.
    private func report(_ coefficients: [Double?]) throws -> BatchReport {
        let description = BatchDescription(
            version: "1.0.0",
            models: [BatchDescription.Model(id: "m", name: "M", version: "1.0.0", digest: "0")],
            options: [:],
            inputs: ["/in"],
            modelPaths: []
        )
        var collector = BatchReport.Collector(description)
        for (index, dice) in coefficients.enumerated() {
            let name = "v\(index)"
            let item = JournalItem(
                id: Int64(index),
                key: name,
                name: name,
                path: "/in/\(name)",
                fingerprint: "",
                state: .completed
            )
            let rows = dice.map { [Statistic(label: "liver", measure: "dice", value: $0, unit: "1")] } ?? []
            let notes: [Note] = dice == nil ? [.notCompared(because: "there are no reference labels")] : []
            try collector.add(ItemRecord(item, written: ItemProduct(statistics: rows, notes: notes)))
        }
        return try collector.report()
    }

    @Test("The table names all items that could not be compared")
    func table() throws {
        let coefficients: [Double?] = [0.5] + Array(repeating: nil, count: 7)
        let text = try ReportText(report(coefficients))
        let table = String(decoding: text.end[.comparison], as: UTF8.self)
        #expect(table.hasSuffix("\n,,notCompared,,7,,,,v1 v2 v3 v4 v5 v6 v7\n"), "\(table)")
    }

    @Test("A comparison lacks only where references were given and no item could be compared")
    func nothingCompared() throws {
        let none = try report([nil, nil]).remarks
        #expect(none.lacking == 2)
        #expect(none.nothingComparedText?.contains("; v0: not compared: there are no reference labels. ") == true)
        for coefficients in [[nil, 0.5], [0.5], []] {
            let remarks = try report(coefficients).remarks
            #expect(remarks.lacking == 0 && remarks.nothingComparedText == nil)
        }
    }
}
