import NocturneSystem
import Testing

@Suite("Words of patients in paths")
struct SoughtWordsTests {
    private let jane = SoughtWords(names: ["Doe", "Jane"], identifiers: ["AB-0042"], birthDate: "19700131")

    @Test(
        "Names, identifier and birth date are found however they are written",
        arguments: [
            ("/in/DOE_JANE_19700131/ct", ["doe", "jane", "19700131"]),
            ("/in/jane doe/31.01.1970", ["doe", "jane", "31011970"]),
            ("/in/31.1.1970", ["3111970"]), ("/in/31.01.70", ["310170"]), ("/in/31-Jan-1970", ["31jan1970"]),
            ("/in/31.1.70", []), ("/in/01-31-1970", ["01311970"]), ("/in/DoeJane19700131.nii", ["doejane19700131"]),
            ("/in/ab0042.nii.gz", ["ab0042"]), ("/in/AB-0042", ["ab0042"]), ("/in/Döe", ["doe"]),
            // Parts of other words, of other numbers, and over two folders.
            ("/in/doerr/janet/1970/01/31", []), ("/in/0042/x119700131", []), ("/in/ab/0042", []),
        ] as [(String, [String])]
    )
    func found(path: String, words: [String]) { #expect(jane.found(in: path) == Set(words)) }

    @Test(
        "Diacritics, short names, several given names and other scripts",
        arguments: [
            (["Müller", "Jörg"], "/in/Mueller_Joerg", ["mueller", "joerg"]), (["Müller"], "/in/muller", ["muller"]),
            (["Li", "Wei"], "/in/LI-WEI", ["wei", "liwei"]), (["Li", "Bo"], "/in/li_bo/li", ["libo"]),
            (["Doe", "Mary Ann"], "/in/mary/x", ["mary"]), (["山田", "太郎"], "/in/山田太郎", ["山田太郎"]),
            (["Anonymous", ""], "/in/anonymous", []), (["12", "345"], "/in/12_345", ["12345"]),
        ] as [([String], String, [String])]
    )
    func spellings(names: [String], path: String, words: [String]) {
        #expect(SoughtWords(names: names, identifiers: [], birthDate: "").found(in: path) == Set(words))
    }

    @Test("What is too short, or names nobody, is not looked for")
    func nobody() {
        #expect(SoughtWords(names: ["X", "Li"], identifiers: ["001", "0000", "unknown"], birthDate: "1970").isEmpty)
    }

    @Test("Words are replaced as a whole; figures of sentences stay")
    func replacing() {
        let words: Set = ["doe", "19700131", "1024"]
        func shown(_ text: String, _ isSentence: Bool = false) -> String {
            PathWords.replacing(words, in: text, isSentence: isSentence) { "<\($0)>" }
        }
        #expect(shown("/in/Doe, J./1970-01-31_doerr") == "/in/<doe>, J./<19700131>_doerr")
        #expect(
            shown("1024 × 1024 voxels in a/1024/b of “1024”", true) == "1024 × 1024 voxels in a/<1024>/b of “<1024>”"
        )
        #expect(shown("19700131 of DOE: damaged", true) == "<19700131> of <doe>: damaged")
        #expect(PathWords.replacing([], in: "doe") { _ in "" } == "doe")
    }
}
