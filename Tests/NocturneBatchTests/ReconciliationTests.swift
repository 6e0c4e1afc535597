import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// An output folder with a journal, to be compared with what discovery finds.
private final class ReconciliationBench: Sendable {
    let folder: TemporaryFolder
    let output: OutputFolder
    let journal: Journal
    let control = RunControl()
    private let blocking: BlockingPool

    init() async throws {
        folder = try TemporaryFolder("reconciliation")
        blocking = try BlockingPool(width: 1)
        output = OutputFolder(folder("out").path)
        try output.create()
        journal = try await Journal(path: output.journal)
    }

    deinit { blocking.shutdown() }

    func item(
        _ name: String,
        key: String? = nil,
        fingerprint: String = "1",
        inputs: [InputStamp] = [],
        problem: ItemProblem? = nil
    ) -> DiscoveredItem {
        var item = DiscoveredItem(
            key: key ?? name,
            name: name,
            model: "words",
            path: "/in/" + name,
            fingerprint: .of(fingerprint),
            inputs: inputs
        )
        (item.source, item.problem) = (name, problem)
        return item
    }

    /// Puts a finished result in its place, as the committer does before the journal hears of it.
    func addResult(_ name: String, fingerprint: String = "1") throws {
        try FileSystem.makeFolder(output.item(name))
        let text = "{\"fingerprint\":\"\(ContentDigest.of(fingerprint).hex)\"}"
        try FileSystem.write(output.item(name) + "/result.json", Array(text.utf8))
    }

    func complete(_ name: String) async throws {
        try addResult(name)
        let size = FileSystem.size(output.item(name) + "/result.json") ?? 0
        let file = ItemFile(path: "result.json", bytes: size, sha256: "")
        guard let item = try await journal.items().first(where: { $0.name == name }) else { return }
        try await journal.complete(
            [(id: item.id, product: ItemProduct(files: [file], statistics: [], notes: []))],
            at: "then"
        )
    }

    @discardableResult
    func run(
        _ items: [DiscoveredItem],
        retryFailed: Bool = false,
        descriptionChanged: Bool = false
    ) async throws -> [String] {
        var reconciliation = Reconciliation(
            recipes: [TextRecipe()],
            journal: journal,
            output: output,
            blocking: blocking,
            control: control,
            progress: ProgressReporter(path: nil, view: SilentView())
        )
        reconciliation.descriptionChanged = descriptionChanged
        try journal.found.begin()
        var all = Discovery()
        let search = InputSearch([TextRecipe()])
        try search.add(items, of: 0, to: journal.found)
        try search.merge(&all, in: journal.found)
        let count = try await reconciliation.run(
            notes: all.notes,
            planner: WorkPlanner(retries: retryFailed ? .all : .none)
        )
        // Some at a time, as the scheduler reads them.
        var queue: [PendingItem] = []
        while true {
            let portion = try await journal.pending(after: queue.last, limit: 2)
            queue += portion
            if portion.count < 2 { break }
        }
        #expect(queue.count == count)
        return queue.map(\.name)
    }

    func states() async throws -> [String: ItemState] {
        Dictionary(uniqueKeysWithValues: try await journal.items().map { ($0.name, $0.state) })
    }

    func reason(_ name: String) async throws -> String? {
        try await journal.items().first { $0.name == name }?.reason?.text
    }
}

@Suite("Discovery compared with the journal")
struct ReconciliationTests {
    @Test("New items are recorded and queued; those with a problem are recorded with their reason")
    func new() async throws {
        let bench = try await ReconciliationBench()
        let queue = try await bench.run([
            bench.item("a"), bench.item("bad", problem: .refused("is damaged")),
            bench.item("text", problem: .setAside("is not a photo")),
        ])
        #expect(queue == ["a"])
        #expect(try await bench.states() == ["a": .pending, "bad": .failed, "text": .skipped])
        #expect(try await bench.reason("bad") == "is damaged")
    }

    @Test("A completed item is kept while its files have their sizes, and its fingerprint is the same")
    func completed() async throws {
        let bench = try await ReconciliationBench()
        let items = ["a", "b", "c"].map { bench.item($0) }
        #expect(try await bench.run(items) == ["a", "b", "c"])
        for name in ["a", "b", "c"] { try await bench.complete(name) }
        #expect(try await bench.run(items).isEmpty)
        FileSystem.remove(bench.output.item("a"))
        try FileSystem.write(bench.output.item("b") + "/result.json", Array("short".utf8))
        #expect(try await bench.run(items.dropLast() + [bench.item("c", fingerprint: "2")]) == ["a", "b", "c"])
        #expect(try await bench.states() == ["a": .pending, "b": .pending, "c": .pending])
        #expect(try await bench.journal.filesOfItems().isEmpty)
    }

    @Test("A finished folder that the journal does not have is recognized, if its fingerprint is right")
    func recognized() async throws {
        let bench = try await ReconciliationBench()
        let items = [bench.item("a"), bench.item("b")]
        try await bench.run(items)
        try bench.addResult("a")
        try bench.addResult("b", fingerprint: "another")
        #expect(try await bench.run(items) == ["b"])
        #expect(try await bench.states() == ["a": .completed, "b": .pending])
    }

    @Test("Suspects come first; a second crash quarantines, unless the result was finished")
    func suspects() async throws {
        let bench = try await ReconciliationBench()
        let items = ["a", "b", "c", "d"].map { bench.item($0) }
        try await bench.run(items)
        let crashes = ["a": 0, "b": 1, "c": 2, "d": 2]
        let known = try await bench.journal.items().map { item in
            var item = item
            item.crashes = crashes[item.name] ?? 0
            return item
        }
        try await bench.journal.takeBack(known, at: "now")
        try bench.addResult("d")
        #expect(try await bench.run(items) == ["b", "a"])
        #expect(
            try await bench.states() == ["a": .pending, "b": .pending, "c": .quarantined, "d": .completed]
        )
    }

    @Test("Failed items are left alone, unless they are to be retried")
    func failed() async throws {
        let bench = try await ReconciliationBench()
        try await bench.run([bench.item("a")])
        let id = try await bench.journal.items()[0].id
        try await bench.journal.settle([id], as: .failed, reason: "why", at: "now")
        #expect(try await bench.run([bench.item("a")]).isEmpty)
        #expect(try await bench.reason("a") == "why")
        #expect(try await bench.run([bench.item("a")], retryFailed: true) == ["a"])
    }

    @Test("Items that are not found wait, and are skipped once the description of the batch has changed")
    func vanished() async throws {
        let bench = try await ReconciliationBench()
        try await bench.run([bench.item("a"), bench.item("b"), bench.item("c")])
        try await bench.complete("c")
        #expect(try await bench.run([bench.item("a")]) == ["a"])
        #expect(try await bench.states() == ["a": .pending, "b": .pending, "c": .completed])
        try await bench.run([bench.item("a")], descriptionChanged: true)
        #expect(try await bench.states() == ["a": .pending, "b": .skipped, "c": .completed])
        #expect(try await bench.reason("b") == "no longer among the inputs")
    }

    @Test("What was set aside since its model is not given keeps this reason when the description changes again")
    func withdrawn() async throws {
        let bench = try await ReconciliationBench()
        try await bench.run([bench.item("a"), bench.item("b")])
        try await bench.complete("b")
        let id = try #require(try await bench.journal.items().first { $0.name == "b" }?.id)
        try await bench.journal.setAside([id], ItemReason(.vanished, "its model is not given"), at: "then")
        try await bench.run([bench.item("a")], descriptionChanged: true)
        #expect(try await bench.reason("b") == "its model is not given")
    }

    @Test("A folder that is readable again, and a file that is now part of an item, are no longer failures")
    func mended() async throws {
        let bench = try await ReconciliationBench()
        let missed = bench.item("dir", key: DiscoveredItem.missedKeyPrefix + "dir", problem: .refused("not readable"))
        let unfit = bench.item("x", key: DiscoveredItem.fileKeyPrefix + "x", problem: .refused("did not respond"))
        let other = bench.item("y", key: DiscoveredItem.fileKeyPrefix + "y", problem: .refused("did not respond"))
        try await bench.run([missed, unfit, other])
        try await bench.run([bench.item("series", inputs: [InputStamp("/in/x")])])
        #expect(
            try await bench.states() == ["dir": .skipped, "x": .skipped, "y": .failed, "series": .pending]
        )
    }

    @Test("Staging keeps the folders of queued items alone, and no links")
    func staging() async throws {
        let bench = try await ReconciliationBench()
        for name in ["a", "old"] { try bench.folder.write("x", to: "out/.nocturne/staging/\(name)/checkpoint") }
        try bench.folder.write("x", to: "out/.nocturne/staging/file")
        try await bench.run([bench.item("a")])
        #expect(FileSystem.entries(bench.output.staging) == ["a"])
    }

    @Test("An entry of the output folder that is not a result keeps its name")
    func foreign() async throws {
        let bench = try await ReconciliationBench()
        try bench.folder.write("mine", to: "out/a/notes.txt")
        let queue = try await bench.run([bench.item("a")])
        #expect(queue.count == 1 && queue[0].hasPrefix("a-"))
        #expect(try FileSystem.read(bench.output.item("a") + "/notes.txt") == Array("mine".utf8))
    }

    @Test("A cancelled run records nothing")
    func cancelled() async throws {
        let bench = try await ReconciliationBench()
        try await bench.run([bench.item("a")])
        bench.control.cancel()
        await #expect(throws: CancelledError.self) { try await bench.run([bench.item("a"), bench.item("b")]) }
        #expect(try await bench.states() == ["a": .pending])
    }
}
