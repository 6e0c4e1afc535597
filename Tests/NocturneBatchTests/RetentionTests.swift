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
            (item.state, item.reason) = (.skipped, ItemReason(.expired, "removed"))
            try await journal.merge([ItemRecord(item)])
            try await journal.set(JournalSetting<[String]>(json: "expiringItems"), to: ["b"])
        }
        let outcome = try await batch.again().run(TextRecipe(), watch)
        #expect(outcome.counts.completed == 2 && outcome.counts.skipped == 2)
        let names = FileSystem.entries(batch.output.path).filter(batch.output.holdsResult)
        #expect(names.count == 2 && names.contains("a") && !names.contains("b"))
        #expect(try await batch.again().run(TextRecipe(), watch).counts == outcome.counts)
    }

    @Test(
        "With --drop older results lose only what shows them; they are verified by what is left, and nothing is made again"
    )
    func thinned() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three", "d": "four"])
        let stop = batch.folder.path + "/stop"
        var recipe = TextRecipe()
        recipe.otherFiles = ["crops/1.png", "labels.png", "meshes/1.stl", "preview.png"]
        func files(_ name: String) -> [String] {
            FileSystem.files(below: batch.output.item(name)).filter { $0 != "run.json" && $0 != "result.json" }.sorted()
        }
        func watch(_ drops: Set<DisplayFiles>) async throws -> BatchOutcome {
            try FileSystem.write(stop, [])
            return try await batch.again().run(recipe) {
                var watcher = FolderWatcher(quietSeconds: 0, stopFile: stop)
                (watcher.retention, watcher.drops) = (.items(1), drops)
                $0.rules.watch = watcher
            }
        }
        #expect(try await batch.run(recipe).counts.completed == 4)
        let older = try await batch.output.reading { journal in
            Retention.items(1).older(of: try await journal.items(), at: WallTime(seconds: 0)).map(\.name)
        }
        try FileSystem.write(batch.output.item(older[0]) + "/meshes/1.stl", [66])
        #expect(try await watch([.meshes]).counts.completed == 4)
        #expect(files(older[0]).contains("meshes/1.stl"), "edited")
        #expect(files(older[1]) == ["crops/1.png", "labels.png", "preview.png"])
        #expect(FileSystem.kind(batch.output.item(older[1]) + "/meshes") == .nothing)
        // As if the run had been killed before it removed the file of one, and a person had changed that of another then.
        for (name, byte) in [(older[1], 65), (older[2], 66)] as [(String, UInt8)] {
            try FileSystem.makeFolder(batch.output.item(name) + "/meshes")
            try FileSystem.write(batch.output.item(name) + "/meshes/1.stl", [byte])
        }
        try await Journal.with(path: batch.output.journal) { journal in
            try await journal.set(JournalSetting<[String]>(json: "expiringItems"), to: Array(older[1...]))
        }
        #expect(try await watch([.meshes, .pictures]).counts.completed == 4)
        #expect(files(older[1]) == ["crops/1.png", "labels.png"])
        #expect(files(older[2]).contains("meshes/1.stl"))
        #expect(try batch.events("itemStarted").count == 4)
        let thinned = try await batch.output.reading { try await $0.items(named: [older[1]])[older[1]] }
        #expect(thinned?.state == .completed && thinned?.reason?.code == .thinned)
        #expect(thinned?.reason?.text.hasPrefix("meshes and pictures of the result") == true)
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
