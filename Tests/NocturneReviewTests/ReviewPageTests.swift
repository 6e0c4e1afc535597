import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneReport
import NocturneReview
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The page for reviewers")
struct ReviewPageTests {
    private func item(_ number: Int, _ state: ItemState = .completed, reason: ItemReason? = nil) -> JournalItem {
        var item = JournalItem(
            id: Int64(number + 1),
            key: "k\(number)",
            name: "item-\(number)",
            path: "/in/\(number).nii",
            fingerprint: String(repeating: "a", count: 60) + String(1000 + number),
            state: state
        )
        (item.reason, item.model) = (reason, "m")
        return item
    }

    /// A completed item has a note with its number.
    private func record(
        _ item: JournalItem,
        _ statistics: (JournalItem) -> [Statistic],
        _ notes: [Int64: [Note]]
    ) -> ItemRecord {
        let own = notes[item.id] ?? [Note("test.note", "</script><b>\(own: item.id - 1)")]
        return ItemRecord(item, written: ItemProduct(statistics: statistics(item), notes: own))
    }

    private func statistics(_ item: JournalItem) -> [Statistic] {
        guard item.state == .completed else { return [] }
        let volume = item.id == 3 ? 900.0 : 100 + Double(item.id % 7)
        return [Statistic(label: "liver", measure: "volume", value: volume, unit: "ml")]
    }

    private func write(
        _ items: [JournalItem],
        _ folder: TemporaryFolder,
        flag: CancellationFlag = CancellationFlag(),
        notes: [Int64: [Note]] = [:],
        rows: ((JournalItem) -> [Statistic])? = nil,
        reader: @escaping ReviewPage.Reader = { _ in nil }
    ) throws {
        let statistics = rows ?? self.statistics
        let description = BatchDescription(
            version: "1.2.3",
            models: [.init(id: "m", name: "Model", version: "1", digest: "d")],
            options: [:],
            inputs: ["/in"],
            modelPaths: []
        )
        var collector = BatchReport.Collector(description)
        let records = items.map { record($0, statistics, notes) }
        for record in records { try collector.add(record) }
        let report = try collector.report()
        let page = ReviewPage(reader)
        var parts = try page.begin(ReportedBatch(output: OutputFolder(folder.path), report: report), flag: flag)
        let reported = report.items(records, from: 0)
        for start in stride(from: 0, to: items.count, by: BatchReport.itemsPerPart) {
            try parts.add(Array(reported[start..<min(start + BatchReport.itemsPerPart, items.count)]))
        }
        try parts.finish()
    }

    /// The value in a data file.
    private func data(_ name: String, _ folder: TemporaryFolder) throws -> Any {
        let text = try String(contentsOf: folder("review/data/" + name), encoding: .utf8)
        let call = try #require(text.split(separator: "\n").last { !$0.hasPrefix("//") })
        let open = try #require(call.firstIndex(of: "("))
        var body = call[call.index(after: open)...].dropLast(2)
        if name.hasPrefix("items") {
            let comma = try #require(body.firstIndex(of: ","))
            body = body[body.index(after: comma)...]
        }
        return try JSONSerialization.jsonObject(with: Data(body.utf8))
    }

    @Test("The data hold every item once, the counts, the failures and what is unusual")
    func content() throws {
        let folder = try TemporaryFolder()
        var items = (0..<1203).map { item($0) }
        items[1].state = .failed
        items[1].reason = ItemReason(FaultCode("nifti", "truncated"), "/in/1.nii: has 17 bytes", stage: "load")
        items[700].state = .failed
        items[700].reason = ItemReason(FaultCode("nifti", "truncated"), "/in/700.nii: has 391 bytes", stage: "load")
        items[1202].state = .pending
        try write(items, folder)
        let document = try data("batch.js", folder)
        let summary = try #require(document as? [String: Any])
        let counts = try #require(summary["counts"] as? [String: Int])
        #expect(counts["inputs"] == 1203 && counts["completed"] == 1200 && counts["failed"] == 2)
        #expect(summary["pages"] as? Int == 3 && (summary["disclaimer"] as? String)?.isEmpty == false)
        let failures = try #require(summary["failures"] as? [[String: Any]])
        #expect(failures.first?["count"] as? Int == 2 && failures.first?["items"] as? [Int] == [1, 700])
        #expect(failures.first?["code"] as? String == "nifti.truncated")
        #expect((failures.first?["remedy"] as? String)?.contains("copy or convert it again") == true)
        let outliers = try #require(summary["outliers"] as? [[String: Any]])
        #expect(outliers.map { $0["item"] as? Int } == [2])
        var names: [String] = []
        for (number, count) in [500, 500, 203].enumerated() {
            let document = try data("items-000\(number).js", folder)
            let entries = try #require(document as? [[String: Any]])
            #expect(entries.count == count)
            names += entries.compactMap { $0["item"] as? String }
        }
        #expect(names == items.map(\.name))
        let index = try String(contentsOf: folder("index.html"), encoding: .utf8)
        for script in index.matches(of: #/(?:src|href)="(review\/[^"]+)"/#) {
            #expect(FileSystem.kind(folder(String(script.1)).path) == .file, "\(script.1)")
        }
    }

    @Test("A report after one more item writes its own file again, and no other; a smaller batch loses files")
    func incremental() throws {
        let folder = try TemporaryFolder()
        var items = (0..<1200).map { item($0) }
        try write(items, folder)
        func inodes() throws -> [String: UInt64] {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder("review/data").path)
            return try Dictionary(
                uniqueKeysWithValues: names.map { name in
                    let path = folder("review/data/" + name).path
                    return (
                        name, try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64 ?? 0
                    )
                }
            )
        }
        let before = try inodes()
        try write(items, folder)
        #expect(try inodes() == before)
        items.append(item(1200))
        try write(items, folder)
        let after = try inodes()
        #expect(Set(after.keys) == Set(before.keys))
        #expect(after["items-0000.js"] == before["items-0000.js"] && after["items-0001.js"] == before["items-0001.js"])
        #expect(after["items-0002.js"] != before["items-0002.js"])
        try write(Array(items[..<400]), folder)
        #expect(try Set(inodes().keys) == ["batch.js", "items-0000.js"])
    }

    @Test("Every radiomic feature has a title and its values, in files that go with the features")
    func features() throws {
        let folder = try TemporaryFolder()
        let rows = { (item: JournalItem) -> [Statistic] in
            guard item.id > 1 else { return [] }
            return ["radiomics:GYBY.ITBB", "secondImageRadiomics:RNU0"].map {
                Statistic(
                    label: "liver",
                    measure: $0,
                    value: item.id == 2 ? nil : 0.125,
                    unit: $0.count > 20 ? "b" : "a"
                )
            }
        }
        try write([item(0), item(1), item(2)], folder, rows: rows)
        let summary = try #require(data("batch.js", folder) as? [String: Any])
        let features = try #require(summary["features"] as? [[String: String]])
        #expect(
            features.map { $0["title"] } == [
                "Joint maximum (cm_joint_max_3D_avg)", "second image: Volume (mesh) (morph_volume)",
            ]
        )
        #expect(summary["featureCount"] as? Int == 2)
        let values = try #require(data("features-0000.js", folder) as? [String: Any])
        #expect(values["measures"] as? [String] == features.compactMap { $0["measure"] })
        let found = try #require(values["rows"] as? [[String: Any]])
        #expect(
            found.map { "\($0["item"] ?? "") \($0["unit"] ?? "")" } == ["item-1 a", "item-1 b", "item-2 a", "item-2 b"]
        )
        #expect((found.last?["values"] as? [Any])?.map { $0 as? Double } == [nil, 0.125])
        try write([item(0)], folder, rows: rows)
        #expect(!FileSystem.exists(folder("review/data/features-0000.js").path))
    }

    @Test("A result has its own disclaimer where that is not the page's")
    func disclaimers() throws {
        let folder = try TemporaryFolder()
        for (index, text) in [Disclaimer.skin, Disclaimer.text].enumerated() {
            try folder.write(text, to: "item-\(index)/result.json")
        }
        let reader: ReviewPage.Reader = { result in
            var parts = ReviewParts(.classification, files: [], titles: [:])
            parts.disclaimer = String(decoding: result, as: UTF8.self)
            return parts
        }
        try write([item(0), item(1)], folder, reader: reader)
        let entries = try #require(data("items-0000.js", folder) as? [[String: Any]])
        #expect(entries.map { $0["disclaimer"] as? String } == [Disclaimer.skin, nil])
    }

    @Test("A raised flag ends the writing, and the next call writes the rest")
    func cancellation() throws {
        let folder = try TemporaryFolder()
        let flag = CancellationFlag()
        flag.cancel()
        let items = (0..<10).map { item($0) }
        #expect(throws: CancelledError.self) { try write(items, folder, flag: flag) }
        #expect(!FileSystem.exists(folder("index.html").path))
        try write(items, folder)
        #expect(FileSystem.exists(folder("index.html").path))
    }

    @Test("Times are written beside the journal, once for each item and state, and a copy of the results has none")
    func times() throws {
        let folder = try TemporaryFolder()
        var items = (0..<3).map { item($0) }
        items[1].state = .failed
        try FileSystem.makeFolder(folder(".nocturne").path)
        for (number, seconds) in [(0, "{\"load\": 1.5, \"write\": 0.25}"), (2, "\"none\"")] {
            try FileSystem.makeFolder(folder("item-\(number)").path)
            try FileSystem.write(folder("item-\(number)/run.json").path, Array("{\"seconds\": \(seconds)}".utf8))
        }
        try write(items, folder)
        let path = folder(".nocturne/times/items-0000.js").path
        let text = String(decoding: try FileSystem.read(path), as: UTF8.self)
        #expect(text.contains("\nnocturneTimes(0, [1.75,null,null]);\n"), "\(text)")
        // Nothing has changed: the record is not read again.
        try FileSystem.write(folder("item-0/run.json").path, Array("{\"seconds\": {\"load\": 9}}".utf8))
        try write(items, folder)
        #expect(String(decoding: try FileSystem.read(path), as: UTF8.self) == text)
        items[0].changed = "2026-11-24T10:00:00Z"
        try write(items, folder)
        let changed = String(decoding: try FileSystem.read(path), as: UTF8.self)
        #expect(changed.contains("[9,null,null]"))
        #expect(changed.contains("nocturneMoments(0, [\"2026-11-24T10:00:00Z\","), "\(changed)")
    }

    @Test("The summary has the agreement with references, and which items were not compared")
    func comparison() throws {
        let folder = try TemporaryFolder()
        let items = (0..<4).map { item($0) }
        try write(
            items,
            folder,
            notes: [
                3: [.notCompared(because: "there are no reference labels for this item")],
                4: [.notCompared(with: "x.nii", because: "another grid")],
            ],
            rows: { item in
                item.id < 3
                    ? [Statistic(label: "liver", measure: "dice", value: 0.5 + Double(item.id) / 10, unit: "1")] : []
            }
        )
        let document = try data("batch.js", folder)
        let summary = try #require(document as? [String: Any])
        let agreement = try #require((summary["comparison"] as? [[String: Any]])?.first)
        #expect(agreement["label"] as? String == "liver" && agreement["items"] as? Int == 2)
        #expect(agreement["model"] as? String == "m")
        #expect(agreement["worst"] as? Double == 0.6 && agreement["worstItems"] as? [String] == ["item-0", "item-1"])
        #expect(summary["notComparedCount"] as? Int == 2)
        let left = try #require(summary["notCompared"] as? [[String: Any]])
        #expect(left.map { $0["item"] as? Int } == [2, 3])
        #expect((left[1]["reason"] as? String)?.hasPrefix("not compared with x.nii: another grid") == true)
    }

    @Test("Marks of many items that the batch does not have are counted in one pass")
    func foreignMarks() throws {
        let folder = try TemporaryFolder("marks")
        let count = 20_000
        let marks = (0..<count).map { number in
            """
            {"item":"other-\(number / 2)","fingerprint":"f","rater":"r","verdict":"pass","comment":"","time":"2026-01-01T00:00:00Z"}
            """
        }
        let text = #"{"schemaVersion":1,"batch":"b","raters":["r"],"marks":["# + marks.joined(separator: ",") + "]}"
        try folder.write(text, to: "review.json")
        let file = try ReviewFile.read(folder("review.json").path)
        let taken = ReviewFile.Import([file], items: [item(1)], recorded: [])
        #expect(taken.marks.isEmpty && taken.unknownItems.count == count / 2 && taken.unknownItems[0] == "other-0")
    }
}
