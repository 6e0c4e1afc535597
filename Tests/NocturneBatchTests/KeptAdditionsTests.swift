import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Marks and imported texts of a result that is made again")
struct KeptAdditionsTests {
    @Test("stay where only the time of the source has changed, and are lost with a note where the result has changed")
    func madeAgain() async throws {
        let bench = try TextBatch(["same": "one", "other": "two"])
        _ = try await bench.run(TextRecipe())
        let title = ObjectText.Field(name: "title", value: "Ulysses")
        try await Journal.with(path: bench.output.journal) { journal in
            for item in try await journal.items() {
                let (name, fingerprint) = (item.name, item.fingerprint)
                let mark = ReviewMark(item: name, fingerprint: fingerprint, rater: "AB", verdict: .pass, time: "")
                try await journal.keep([mark])
                try await journal.keep([ObjectText(item: name, fingerprint: fingerprint, object: 1, fields: [title])])
            }
        }
        try touch("same", in: bench)
        try bench.write("other", "three")
        #expect(try await bench.again().run(TextRecipe()).counts.completed == 2)
        #expect(try bench.text("other") == "THREE")

        try await Journal.with(path: bench.output.journal) { journal in
            let items = try await journal.items()
            let same = try #require(items.first { $0.name == "same" })
            #expect(try await journal.marks().current(for: items).map(\.item) == ["same"])
            let texts = try await journal.texts().current(for: items)
            #expect(texts.mapValues { $0.mapValues(\.fields) } == [same.id: [1: [title]]])
        }
        let notes = try bench.events("note").filter { $0.contains("does not have") }
        #expect(notes.count == 1)
        let note = "other: the new result does not have 2 marks and imported texts of earlier ones"
        #expect(notes.first?.contains(note) == true)
    }

    @Test("are lost with a note, too, where no result is in place, and where they belong to none that was recorded")
    func unproven() async throws {
        let bench = try TextBatch(["gone": "one", "moved": "two", "found": "three", "same": "four"])
        _ = try await bench.run(TextRecipe())
        try await Journal.with(path: bench.output.journal) { journal in
            for item in try await journal.items() {
                // As after an end of the process between the move to the fingerprint of a new result and its rename.
                let isMoved = ["moved", "found"].contains(item.name)
                let fingerprint = isMoved ? String(repeating: "0", count: 64) : item.fingerprint
                let mark = ReviewMark(item: item.name, fingerprint: fingerprint, rater: "AB", verdict: .pass, time: "")
                try await journal.keep([mark])
                guard item.name == "found" else { continue }
                try await journal.processAgain([item.id], reason: ItemReason(.interrupted, ""), at: "")
            }
        }
        FileSystem.remove(bench.output.item("gone"))
        for name in ["gone", "moved"] { try touch(name, in: bench) }
        #expect(try await bench.again().run(TextRecipe()).counts.completed == 4)

        let notes = try bench.events("note").filter { $0.contains("does not have") }
        #expect(notes.count == 3)
        for name in ["gone", "moved", "found"] {
            let note = "\(name): the new result does not have 1 mark or imported text of earlier ones"
            #expect(notes.contains { $0.contains(note) }, "\(name)")
        }
    }

    /// Gives a source another time.
    private func touch(_ name: String, in bench: TextBatch) throws {
        let earlier = Date(timeIntervalSince1970: 1_000_000_000)
        let source = bench.folder.path + "/in/\(name).txt"
        try FileManager.default.setAttributes([.modificationDate: earlier], ofItemAtPath: source)
    }

    @Test("stay where DICOM objects differ, whose UIDs are made from the fingerprint; not where a label map does")
    func objects() throws {
        try TemporaryFolder.with { folder in
            func result(_ name: String, map: String, object: String) throws -> ResultFolder {
                let files = [("segmentation.nii.gz", map), ("segmentation.dcm", object)]
                    .map { #"{"path":"\#($0)","bytes":1,"sha256":"\#($1)"}"# }.joined(separator: ",")
                try folder.write(#"{"fingerprint":"\#(name)","files":[\#(files)]}"#, to: name + "/result.json")
                return ResultFolder(folder(name).path)
            }
            let first = try result("first", map: "a", object: "b")
            #expect(try first.isEqual(to: result("second", map: "a", object: "c")))
            #expect(try !first.isEqual(to: result("third", map: "c", object: "b")))
        }
    }
}
