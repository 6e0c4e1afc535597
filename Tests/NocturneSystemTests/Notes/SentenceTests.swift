import Foundation
import NocturneSystem
import Testing

@Suite("Sentences and notes")
struct SentenceTests {
    private struct Failure: Error, CustomStringConvertible { let description: String }

    private let sentence: Sentence =
        "\(3) of \(200) slices of \(own: "CT") in \(file: "/in/a.dcm") are \("odd"): \(Failure(description: "no data"))"

    @Test("A sentence reads as a string does, and keeps its values apart by where they come from")
    func values() {
        #expect("\(sentence)" == "3 of 200 slices of CT in /in/a.dcm are odd: no data")
        #expect(
            sentence.values == [
                .own("3"), .own("200"), .own("CT"), .file("/in/a.dcm"), .input("odd"), .input("no data"),
            ]
        )
        #expect(sentence.words == ["", " of ", " slices of ", " in ", " are ", ": ", ""])
        #expect("\(sentence.map { if case .file = $0 { .file("x") } else { $0 } })".contains(" in x are "))
    }

    @Test("Sentences are joined with their values")
    func joined() {
        let parts: [Sentence] = ["a \(1)", "\("b") c", "d"]
        let all = "begin: " + parts.joined(separator: "; ") + ", \(own: "end")"
        #expect("\(all)" == "begin: a 1; b c; d, end")
        #expect(all.values == [.own("1"), .input("b"), .own("end")])
        #expect("\([Sentence]().joined(separator: ", "))".isEmpty)
        let nested: Sentence = "\(own: "x"): \(all)"
        #expect(nested.values == [.own("x")] + all.values && "\(nested)" == "x: \(all)")
    }

    @Test("A note survives JSON with its code and its values")
    func coding() throws {
        for note in [Note("a.plain", "no value"), Note("a.values", sentence)] {
            let data = try JSONEncoder().encode(note)
            #expect(try JSONDecoder().decode(Note.self, from: data) == note)
        }
        let short = Data(#"{"code": "a.b", "words": ["x"], "values": ["y"]}"#.utf8)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Note.self, from: short) }
    }
}
