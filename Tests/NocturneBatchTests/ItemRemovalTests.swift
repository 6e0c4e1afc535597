import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Removing items from a batch")
struct ItemRemovalTests {
    /// Ends the removal after the journal has forgotten the items, before everything is written without them.
    private struct Interruption: BatchPage, Error {
        func begin(_ batch: ReportedBatch, flag: CancellationFlag) throws -> any BatchPageParts { throw self }
    }

    private func naming(_ text: String, in bench: TextBatch) throws -> [String] {
        try FileSystem.files(below: bench.output.path).filter { path in
            let bytes = try FileSystem.read(bench.output.path + "/" + path)
            return path.contains(text) || Data(bytes).range(of: Data(text.utf8)) != nil
        }
    }

    @Test("can be repeated after it was interrupted, also with a later item of that name and for other items")
    func interrupted() async throws {
        let bench = try TextBatch(["jane": "one", "john": "two", "jack": "three"])
        _ = try await bench.run(TextRecipe())
        let interrupted = ItemRemoval(ReportRenewal(bench.output, page: Interruption()))
        await #expect(throws: Interruption.self) { try await interrupted.remove { $0.name == "jane" } }
        #expect(try await interrupted.unfinished() == ["jane"])

        let removal = ItemRemoval(ReportRenewal(bench.output, page: NoPage()))
        #expect(try await removal.remove { $0.name == "jane" }.items == ["jane"])
        #expect(try naming("jane", in: bench) == [])
        #expect(try await removal.unfinished() == [])
        #expect(try bench.text("john") == "TWO")

        await #expect(throws: Interruption.self) { try await interrupted.remove { $0.name == "john" } }
        #expect(try await removal.remove { $0.name == "jack" }.items == ["jack", "john"])
        for name in ["jack", "john"] { #expect(try naming(name, in: bench) == []) }
        let error = await #expect(throws: BatchError.self) { try await removal.remove { $0.name == "john" } }
        #expect(error?.code == .unknownItem)
    }

    @Test("shows the files of users that it would delete")
    func foreignFiles() async throws {
        let bench = try TextBatch(["a": "one", "b": "two"])
        _ = try await bench.run(TextRecipe())
        let removal = ItemRemoval(ReportRenewal(bench.output, page: NoPage()))
        let before = try await removal.extent { $0.name == "a" }
        #expect(before.files > 0 && before.foreign.isEmpty)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: bench.output.item("a") + "/note.txt"))
        let extent = try await removal.extent { $0.name == "a" }
        #expect(extent.foreign == ["a/note.txt"] && extent.files == before.files + 1)
    }

    @Test("and a run refuse names in a journal that lead out of the output folder, and touch nothing there")
    func foreignNames() async throws {
        let bench = try TextBatch(["a": "one", "b": "two"])
        _ = try await bench.run(TextRecipe())
        try bench.folder.write("precious", to: "elsewhere/a/file")
        func isThere() -> Bool { FileSystem.kind(bench.folder.path + "/elsewhere/a/file") == .file }

        let removal = ItemRemoval(ReportRenewal(bench.output, page: NoPage()))
        let unfinished = JournalSetting<ItemRemoval.Traces>(json: "unfinishedRemoval")
        try await Journal.with(path: bench.output.journal) {
            try await $0.set(unfinished, to: ItemRemoval.Traces(names: ["../elsewhere"]))
        }
        await #expect(throws: JournalError.self) { try await removal.remove { $0.name == "b" } }
        #expect(isThere())
        #expect(try bench.text("b") == "TWO")

        try await Journal.with(path: bench.output.journal) {
            try await $0.remove(unfinished)
            try await $0.set(.stagingFolder, to: "../../elsewhere")
        }
        try bench.write("a", "three")
        await #expect(throws: JournalError.self) { try await bench.run(TextRecipe()) }
        #expect(isThere())
    }

    @Test("takes folders out of the description in which no other item lies")
    func inputs() async throws {
        let bench = try TextBatch(["jane": "one", "john": "two"])
        _ = try await bench.run(TextRecipe())
        let removal = ItemRemoval(ReportRenewal(bench.output, page: NoPage()))
        let folder = bench.folder.path + "/in"
        func inputs() async throws -> [String]? {
            try await bench.output.reading { try await $0.value(of: .batchDescription)?.inputs }
        }
        _ = try await removal.remove { $0.name == "jane" }
        #expect(try await inputs() == [folder])
        _ = try await removal.remove { $0.name == "john" }
        #expect(try await inputs() == [])
    }
}
