import Foundation
import NocturneBatch
import NocturneJournal
import NocturneRecipeSupport
import NocturneReview
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The page for reviewers")
struct ReviewPageTests {
    private func item(_ number: Int, _ state: ItemState = .completed, reason: ItemReason? = nil) -> JournalItem {
        JournalItem(
            id: Int64(number + 1),
            key: "k\(number)",
            name: "item-\(number)",
            path: "/in/\(number).nii",
            fingerprint: String(repeating: "a", count: 60) + String(1000 + number),
            state: state,
            reason: reason,
            crashes: 0,
            notes: ["</script><b>\(number)"],
            model: "m"
        )
    }

    private func statistics(_ item: JournalItem) -> [Statistic] {
        guard item.state == .completed else { return [] }
        let volume = item.id == 3 ? 900.0 : 100 + Double(item.id % 7)
        return [Statistic(label: "liver", measure: "volume", value: volume, unit: "ml")]
    }

    private func write(
        _ items: [JournalItem],
        _ folder: TemporaryFolder,
        flag: CancellationFlag = CancellationFlag()
    ) throws {
        let description = BatchDescription(
            version: "1.2.3",
            models: [.init(id: "m", name: "Model", version: "1", digest: "d")],
            options: [:],
            inputs: ["/in"],
            include: [],
            exclude: [],
            modelPaths: []
        )
        var collector = BatchReport.Collector(description, marks: [], ranges: [])
        for item in items { collector.add(item, statistics(item)) }
        let report = collector.report()
        let page = ReviewPage { _ in nil }
        var parts = try page.begin(ReportedBatch(output: OutputFolder(folder.path), report: report), flag: flag)
        let reported = items.enumerated().map { report.item($1, statistics($1), at: $0) }
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
}
