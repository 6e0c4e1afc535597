import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Results that a watch keeps")
struct RetentionTests {
    @Test("Of a watch the newest results are kept, and edited ones; what was removed is not made again")
    func retention() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three", "d": "four"])
        let stop = batch.folder.path + "/stop"
        let watch: (inout TextBatch.Setup) -> Void = {
            var watcher = FolderWatcher(quietSeconds: 0, stopFile: stop)
            watcher.retention = .items(1)
            $0.rules.watch = watcher
        }
        #expect(try await batch.run(TextRecipe()).counts.completed == 4)
        try FileSystem.write(batch.output.item("a") + "/note.txt", [65])
        try FileSystem.write(stop, [])
        // As if a run had been killed when the journal had the item as removed.
        try await Journal.with(path: batch.output.journal) { journal in
            var item = try #require(try await journal.items().first { $0.name == "b" })
            (item.state, item.reason) = (.skipped, ItemReason(FaultCode("item", "expired"), "removed"))
            try await journal.merge([ItemRecord(item)])
            try await journal.set(JournalSetting<[String]>(json: "expiringItems"), to: ["b"])
        }
        let outcome = try await batch.again().run(TextRecipe(), watch)
        #expect(outcome.counts.completed == 2 && outcome.counts.skipped == 2)
        let names = FileSystem.entries(batch.output.path).filter(batch.output.holdsResult)
        #expect(names.count == 2 && names.contains("a") && !names.contains("b"))
        #expect(try await batch.again().run(TextRecipe(), watch).counts == outcome.counts)
    }

    @Test("Where results are reviewed, those without a mark stay")
    func unmarked() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        #expect(try await batch.run(TextRecipe()).counts.completed == 3)
        let marked = try await Journal.with(path: batch.output.journal) { journal in
            let item = try #require(
                Retention.items(1).older(of: try await journal.items(), at: WallTime(seconds: 0)).last
            )
            let mark = ReviewMark(item: item.name, fingerprint: item.fingerprint, rater: "x", verdict: .pass, time: "")
            try await journal.keep([mark])
            return item.name
        }
        let outcome = try await batch.again().run(TextRecipe()) {
            $0.rules.watch = FolderWatcher(quietSeconds: 0, stopFile: batch.folder.path + "/stop")
            $0.rules.watch?.retention = .items(1)
            try? FileSystem.write(batch.folder.path + "/stop", [])
        }
        #expect(outcome.counts.completed == 2 && !batch.output.holdsResult(marked))
    }

    @Test("Older results are those beyond a number, or of earlier days, the oldest first")
    func older() {
        let items = (1...4).map { day in
            var item = JournalItem(
                id: Int64(day),
                key: "",
                name: "\(day)",
                path: "",
                fingerprint: "",
                state: .completed
            )
            item.changed = WallTime(seconds: 86_400 * (5 - day)).timestamp
            return item
        }
        func names(_ retention: Retention) -> [String] {
            retention.older(of: items, at: WallTime(seconds: 86_400 * 5)).map(\.name)
        }
        #expect(names(.items(1)) == ["4", "3", "2"] && names(.items(9)).isEmpty)
        #expect(names(.days(2)) == ["4", "3"] && names(.days(4)).isEmpty)
    }
}
