import NocturneOutput
import Testing

@Suite("Lists of inputs")
struct InputListTests {
    @Test(
        "A byte-order mark is no part of the first line; comments and empty lines are not paths",
        arguments: [
            "/in/a.nii\n/in/b.nii\n", "\u{FEFF}/in/a.nii\r\n\r\n/in/b.nii", "\u{FEFF}\"/in/a.nii\"\n/in/b.nii",
            "\u{FEFF}# two\n/in/a.nii\n /in/b.nii \n", "/in/a.nii\r/in/b.nii\r", "/in/a.nii\0/in/b.nii\0",
        ]
    )
    func paths(text: String) { #expect(InputList.paths(in: text) == ["/in/a.nii", "/in/b.nii"]) }

    @Test(
        "Every path comes back from its line",
        arguments: [
            "/in/a b", "#a", "\"a\"", " a ", "a\nb", "a\r\nb", "a\tb", "ä", "a\u{85}b", "a\u{2028}b", "a\u{2029}",
            "a\u{B}b",
        ]
    )
    func roundTrip(path: String) { #expect(InputList.paths(in: InputList.line(for: path)) == [path]) }

    @Test("A list in another encoding is refused with the line")
    func encodings() throws {
        #expect(try InputList.text(Array("/in/ä\n".utf8), of: "the list x") == "/in/ä\n")
        let latin = Array("/in/a\n/in/M".utf8) + [0xFC] + Array("ller\n/in/b\n".utf8)
        #expect { try InputList.text(latin, of: "the list x") } throws: {
            "\($0)".contains("line 2 of the list x is not valid UTF-8: /in/M\\xFCller. Save the list as UTF-8")
        }
        #expect { try InputList.text([0xFF, 0xFE, 0x2F, 0, 0x0A, 0], of: "standard input") } throws: {
            "\($0)".contains("line 1 of standard input is not valid UTF-8: \\xFF\\xFE/\\x00.")
        }
    }

    @Test("Only line feeds and carriage returns end a line")
    func separators() { #expect(InputList.paths(in: "a\u{2028}b\nc\u{85}d\n") == ["a\u{2028}b", "c\u{85}d"]) }

    @Test("Between null characters paths are exactly as they are, as find -print0 writes them")
    func nullCharacters() {
        let paths = ["/in/a\nb", " c ", "#d", "\"e\""]
        #expect(InputList.paths(in: paths.map { $0 + "\0" }.joined()) == paths)
    }
}
