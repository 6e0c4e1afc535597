import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneReport
import Testing

@Suite("MeasurementTable")
struct MeasurementTableTests {
    private let description = BatchDescription(
        version: "1.0.0",
        models: [BatchDescription.Model(id: "m", name: "M", version: "1.0.0", digest: "0")],
        options: [:],
        inputs: ["/in"],
        modelPaths: []
    )

    private func item(_ name: String, _ state: ItemState = .completed) -> JournalItem {
        JournalItem(
            id: 1,
            key: name,
            name: name,
            path: "/in/\(name),1.nii",
            fingerprint: "",
            state: state
        )
    }

    private func row(_ label: String, _ measure: String, _ value: Double?, _ unit: String) -> Statistic {
        Statistic(label: label, measure: measure, value: value, unit: unit)
    }

    @Test("One row an item, a column for each measure, label and unit, in the order in which they come; no histograms")
    func table() throws {
        let rows = [
            [
                row("liver", "volume", 1.5, "ml"), row("liver", "histogramCount1", 3, "1"),
                row("liver", "meanx", 40, "HU"),
            ],
            [
                row("liver", "volume", 0, "ml"), row("=a,b", "voxelCount", 7, "1"),
                row("liver", "meanx", nil, "image value"),
            ],
            [],
        ]
        let items = [item("a"), item("b"), item("c", .failed)]
        let mark = ReviewMark(item: "b", fingerprint: "", rater: "r", verdict: .fail, time: "")
        var collector = BatchReport.Collector(description, marks: [mark])
        let records = zip(items, rows).map { ItemRecord($0, written: ItemProduct(statistics: $1)) }
        for record in records { try collector.add(record) }
        let report = try collector.report()
        let lines = report.items(records, from: 0).map(report.measurements.line)
        let end = ",\"\(Disclaimer.short)\"\n"
        let last = Disclaimer.short.contains(",") ? end : ",\(Disclaimer.short)\n"
        #expect(
            report.measurements.header
                == "item,state,model,source,verdict,liver volume [ml],liver meanx [HU],\"'=a,b voxelCount\","
                + "liver meanx [image value],disclaimer\n"
        )
        #expect(lines[0] == "a,completed,m,\"/in/a,1.nii\",,1.5,40,," + last)
        #expect(lines[1] == "b,completed,m,\"/in/b,1.nii\",fail,0,,7," + last)
        #expect(lines[2] == "c,failed,m,\"/in/c,1.nii\",,,,," + last)
    }

    @Test("The number of columns has a limit")
    func limit() {
        var table = MeasurementTable()
        for region in 0..<MeasurementTable.mostColumns + 10 {
            table.add([row("roi:\(region)", "area", 1, "mm2")])
        }
        #expect(table.columns.count == MeasurementTable.mostColumns)
        #expect(table.columns.last?.label == "roi:\(MeasurementTable.mostColumns - 1)")
    }
}
