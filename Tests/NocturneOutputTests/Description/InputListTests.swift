import NocturneOutput
import Testing

@Suite("Lists of inputs")
struct InputListTests {
    @Test(
        "A byte-order mark is no part of the first line; comments and empty lines are not paths",
        arguments: [
            "/in/a.nii\n/in/b.nii\n", "\u{FEFF}/in/a.nii\r\n\r\n/in/b.nii", "\u{FEFF}\"/in/a.nii\"\n/in/b.nii",
            "\u{FEFF}# two\n/in/a.nii\n /in/b.nii \n",
        ]
    )
    func paths(text: String) { #expect(InputList.paths(in: text) == ["/in/a.nii", "/in/b.nii"]) }

    @Test("Every path comes back from its line", arguments: ["/in/a b", "#a", "\"a\"", " a ", "a\nb", "a\tb", "ä"])
    func roundTrip(path: String) { #expect(InputList.paths(in: InputList.line(for: path)) == [path]) }
}
