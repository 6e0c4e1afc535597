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
        let earlier = Date(timeIntervalSince1970: 1_000_000_000)
        let source = bench.folder.path + "/in/same.txt"
        try FileManager.default.setAttributes([.modificationDate: earlier], ofItemAtPath: source)
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
        let notes = try bench.events("note").filter { $0.contains("loses") }
        #expect(notes.count == 1)
        #expect(notes.first?.contains("other: the result has changed and loses 2 marks and imported texts") == true)
    }
}
