import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Results of other batches")
struct ReuseTests {
    /// Runs a batch, and lists the items that were loaded.
    private func loaded(_ batch: TextBatch, reusing other: [TextBatch] = []) async throws -> Set<String> {
        let names = Mutex<Set<String>>([])
        let recipe = TextRecipe { stage, name in
            if stage == .load { _ = names.withLock { $0.insert(name) } }
        }
        let outcome = try await batch.run(recipe) { $0.reuse = other.map(\.output.path) }
        #expect(outcome.counts.completed == outcome.counts.inputs)
        return names.withLock { $0 }
    }

    private func origins(_ batch: TextBatch) async throws -> [String: FaultCode?] {
        try await batch.output.reading { journal in
            Dictionary(uniqueKeysWithValues: try await journal.items().map { ($0.name, $0.reason?.code) })
        }
    }

    @Test("Results that another batch has are copied and marked; new, damaged and incomplete ones are made")
    func reused() async throws {
        let first = try TextBatch(["a": "one", "b": "two", "c": "three"])
        #expect(try await loaded(first) == ["a", "b", "c"])
        try FileSystem.write(first.output.item("b") + "/result.json", Array("{\"files\":[],\"text\":\"X\"}".utf8))
        #expect(FileSystem.remove(first.output.item("c") + "/run.json") == nil)
        try first.write("d", "four")
        let journal = try FileSystem.digest(first.output.journal)
        let second = first.again("second")
        #expect(try await loaded(second, reusing: [first]) == ["b", "c", "d"])
        #expect(try FileSystem.digest(first.output.journal).digest == journal.digest)
        for (name, text) in ["a": "ONE", "b": "TWO", "c": "THREE", "d": "FOUR"] {
            #expect(try second.text(name) == text)
        }
        #expect(try await origins(second) == ["a": .reused, "b": nil, "c": nil, "d": nil])
        #expect(try second.events("itemRetried").count == 2)
        #expect(try second.events("itemCompleted").filter { $0.contains("item.reused") }.count == 1)
        // Neither batch has the files of the other.
        let places = [first, second].map { $0.output.item("a") + "/result.json" }
        #expect(FileIdentity(places[0]) != FileIdentity(places[1]))
        // What lies in place and was not recorded is known as a copy.
        try await Journal.with(path: second.output.journal) { journal in
            let items = try await journal.items().filter { $0.name == "a" }
            try await journal.processAgain(items.map(\.id), reason: ItemReason(.interrupted, ""), at: "")
        }
        #expect(try await loaded(second.again()).isEmpty)
        #expect(try await origins(second)["a"] == .reused)
    }

    @Test("A later run takes results from the batches that an earlier one named; a changed source is processed")
    func later() async throws {
        let first = try TextBatch(["a": "one", "b": "two"])
        #expect(try await loaded(first).count == 2)
        let second = first.again("second")
        _ = try await second.run(TextRecipe()) {
            $0.reuse = [first.output.path]
            $0.rules.pilot = 1
        }
        try first.write("b", "other")
        #expect(try await loaded(second.again()) == ["b"])
        #expect(try second.text("b") == "OTHER")
    }

    @Test("A folder without a batch is refused before anything is made")
    func noBatch() async throws {
        let batch = try TextBatch(["a": "one"])
        await #expect(throws: BatchError.self) {
            try await batch.run(TextRecipe()) {
                $0.reuse = [batch.folder.path + "/in"]
                $0.createsOutput = false
            }
        }
        #expect(!FileSystem.exists(batch.output.path))
    }
}
