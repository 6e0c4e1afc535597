import Foundation
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneTestSupport
import Testing

@Suite("Reference ranges of measures")
struct ReferenceRangesTests {
    private func read(_ text: String) throws -> [ReferenceRange] {
        try TemporaryFolder.with { try ReferenceRange.read($0.write(text, to: "norms.csv").path) }
    }

    private func refusal(_ text: String) -> String {
        do {
            return "\(try read(text))"
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "Tables with commas, semicolons and tabs are read, in any order of the columns",
        arguments: [
            "label,measure,low,high\nliver,volume,900,2000.5\nspleen,volume,,400\n",
            "\u{FEFF}measure;label;high;low;model\r\nvolume;\"liver\";2000,5;900;\r\n;;;;\r\nvolume;spleen;400;;\r\n",
            "Label\tMeasure\tLow\tHigh\tNote\nliver\tvolume\t900\t2000.5\tx\n\nspleen\tvolume\t\t400",
        ]
    )
    func tables(_ text: String) throws {
        let ranges = try read(text)
        #expect(ranges.map(\.label) == ["liver", "spleen"] && ranges.allSatisfy { $0.measure == "volume" })
        #expect(ranges.map(\.low) == [900, nil] && ranges.map(\.high) == [2000.5, 400])
        #expect(ranges.allSatisfy { $0.model == nil })
    }

    @Test(
        "What is no table is refused with the line and what is expected",
        arguments: [
            ("", "norms.csv is empty"), ("label,measure,low\na,b,1\n", "no column high"),
            ("label,measure,low,high\na,b,x,2\n", "row 2: low is \"x\", not a number"),
            ("label,measure,low,high\n\na,b,3,2\n", "row 3: low is above high"),
            ("label,measure,low,high\na,b,,\n", "row 2: low and high are empty. Give one of them or both"),
            ("label,measure,low,high\n,b,1,2\n", "row 2: label or measure is missing"),
            ("label,measure,low,high\na,b,nan,2\n", "row 2: low is \"nan\""),
        ]
    )
    func refused(_ text: String, _ reason: String) {
        let found = refusal(text)
        #expect(found.contains(reason) && found.contains("norms.csv"), "\(found)")
    }

    @Test("What the columns are is stated about the columns alone")
    func columns() {
        let columns = "It needs the columns label, measure, low and high"
        #expect(refusal("label,measure,low\na,b,1\n").contains(columns))
        #expect(!refusal("label,measure,low,high\na,b,3,2\n").contains(columns))
    }

    @Test("A value outside is unusual in a batch of any size, the further outside the more")
    func unusual() throws {
        let ranges = try read("label,measure,low,high,model\nliver,volume,1000,2000,\nliver,volume,0,1,other\n")
        func row(_ volume: Double?) -> [Statistic] {
            [
                Statistic(label: "liver", measure: "volume", value: volume, unit: "ml"),
                Statistic(label: "spleen", measure: "volume", value: 5000, unit: "ml"),
            ]
        }
        let rows = [1500, 1000, 2000, 2100, 4000, nil, 999].map(row)
        let found = try UnusualValues(models: rows.map { _ in "ct" }, statistics: rows, ranges: ranges).values
        // Of 4000 the z-score is 2500 / (1000 / 3.92); the others are near the range.
        #expect(found.map(\.item) == [4, 3, 6])
        #expect(zip(found, [9.8, 3.5, 3.5]).allSatisfy { abs($0.score - $1) < 1e-9 })
        #expect(found[0].text == "volume 4000 ml, the reference range is 1000 to 2000")
        #expect(try UnusualValues(models: rows.map { _ in "ct" }, statistics: rows).values.isEmpty)
    }

    @Test("Those whose label, measure or model no result has are named, once there is a result")
    func unused() throws {
        let table = "liver,volume,1,2,\nliver,mean,1,,\nlivr,volume,1,2,\nliver,volumen,1,2,\nliver,volume,1,2,mr\n"
        let ranges = try read("label,measure,low,high,model\n" + table)
        let description = BatchDescription(version: "1", models: [], options: [:], inputs: ["/in"], modelPaths: [])
        func remarks(_ state: ItemState, _ rows: [Statistic]) throws -> ReportRemarks {
            var collector = BatchReport.Collector(description, ranges: ranges)
            var item = JournalItem(
                id: 1,
                key: "a",
                name: "a",
                path: "/in/a",
                fingerprint: "",
                state: state
            )
            item.model = "ct"
            try collector.add(ItemRecord(item, written: ItemProduct(statistics: rows)))
            return try collector.report().remarks
        }
        let rows = [
            Statistic(label: "liver", measure: "volume", value: 1500, unit: "ml"),
            // One that was not found has the row, too.
            Statistic(label: "liver", measure: "mean", value: nil, unit: "HU"),
        ]
        let found = try remarks(.completed, rows)
        #expect(found.unusedRanges == ["livr volume", "liver volumen", "liver volume of mr"])
        let text = try #require(found.unusedRangesText)
        #expect(text.hasPrefix("No result has the values of 3 rows of --norms: livr volume, liver volumen"), "\(text)")
        #expect(try remarks(.failed, []).unusedRangesText == nil)
    }

    @Test("They are recorded, and the report is old from then on only if they changed")
    func recorded() async throws {
        let ranges = try read("label,measure,low,high\nliver,volume,1000,2000\n")
        let folder = try TemporaryFolder("ranges")
        try await Journal.with(path: folder("journal.sqlite").path) { journal in
            try await journal.set(.isReportUpToDate, to: true)
            try await journal.expect(ranges)
            let recorded = try await journal.value(of: .referenceRanges)
            let isUpToDate = try await journal.value(of: .isReportUpToDate)
            #expect(recorded == ranges && isUpToDate == false)
            try await journal.set(.isReportUpToDate, to: true)
            try await journal.expect(ranges)
            let isStillUpToDate = try await journal.value(of: .isReportUpToDate)
            #expect(isStillUpToDate == true)
        }
    }
}
