import Foundation
import NocturneJournal
import NocturneOutput
import NocturneReview
import NocturneTestSupport
import Testing

@Suite("Files of marks")
struct ReviewFileTests {
    private let item = JournalItem(id: 1, key: "a", name: "a", path: "/in/a.nii", fingerprint: "f", state: .completed)

    private func mark(_ verdict: ReviewVerdict, _ time: String, _ rater: String = "Ada") -> ReviewMark {
        ReviewMark(item: "a", fingerprint: "f", rater: rater, verdict: verdict, time: time)
    }

    private func file(_ marks: [ReviewMark]) throws -> ReviewFile {
        let list = String(decoding: try JSONEncoder().encode(marks), as: UTF8.self)
        let text = #"{"schemaVersion":1,"batch":"b","raters":[],"marks":\#(list)}"#
        return try ReviewFile(Array(text.utf8))
    }

    @Test("Of the marks of a person the newest counts, in whatever order they are; times are compared as instants")
    func newest() throws {
        let (older, newer) = (mark(.pass, "2026-11-29T10:30:00+01:00"), mark(.fail, "2026-11-29T10:00:00.000Z"))
        for marks in [[[older, newer]], [[newer], [older]], [[older], [newer, newer]]] {
            let taken = ReviewFile.Import(try marks.map(file), items: [item], recorded: [])
            #expect(taken.marks == [newer] && taken.olderCount == 0)
        }
    }

    @Test("A recorded mark gives way to a newer one and to one of the same time, not to an older one")
    func recorded() throws {
        let (first, second) = (mark(.fail, "2026-11-29T10:00:00Z"), mark(.pass, "2026-11-29T11:00:00Z"))
        func taken(_ marks: [ReviewMark], over recorded: ReviewMark) throws -> ReviewFile.Import {
            ReviewFile.Import([try file(marks)], items: [item], recorded: [recorded])
        }
        #expect(try taken([second], over: first).marks == [second])
        #expect(try taken([second], over: second).marks == [second])
        #expect(try taken([first], over: mark(.pass, "yesterday")).marks == [first])
        let other = mark(.questionable, "2026-01-01T00:00:00Z", "Bob")
        let left = try taken([first, other], over: second)
        #expect(left.marks == [other] && left.olderCount == 1)
        #expect(
            left.summary == "1 mark by Bob: 0 pass, 0 fail, 1 questionable. "
                + "Left out: 1 mark older than that of the same person in the batch."
        )
    }

    @Test("A mark of the present result counts, though one of another result is newer")
    func present() throws {
        let current = mark(.pass, "2026-11-29T10:00:00Z")
        var other = mark(.fail, "2026-11-29T11:00:00Z")
        other.fingerprint = "g"
        let taken = ReviewFile.Import([try file([other, current])], items: [item], recorded: [other])
        #expect(taken.marks == [current] && taken.staleCount == 0 && taken.olderCount == 0)
        #expect(ReviewFile.Import([try file([other])], items: [item], recorded: [current]).marks.isEmpty)
    }

    @Test(
        "A value that is not understood is named with what is allowed",
        arguments: [
            (#""verdict":"perhaps","time":"""#, #"marks[0].verdict is "perhaps", not one of pass, fail, questionable"#),
            (#""verdict":7,"time":"""#, "marks[0].verdict is not a text"),
            (#""verdict":"pass","time":"yesterday""#, "the time \"yesterday\" of a mark of a\u{FFFD}b is not a time"),
        ]
    )
    func refused(fields: String, reason: String) throws {
        try TemporaryFolder.with { folder in
            let mark = #"{"item":"a\nb","fingerprint":"f","object":null,"rater":"r","comment":"",\#(fields)}"#
            let text = #"{"schemaVersion":1,"batch":"","raters":[],"marks":[\#(mark)]}"#
            let path = try folder.write(text, to: "review.json").path
            let error = #expect(throws: BatchError.self) { try ReviewFile.read(path) }
            #expect(error?.detail.contains(reason) == true, "\(error?.detail ?? "")")
        }
    }
}
