import NocturneSystem
import Testing

@Suite("Spelling")
struct SpellingTests {
    @Test(
        "The nearest name is found, if it is near enough",
        arguments: [
            ("rum", "run"), ("statsu", "status"), ("Resume", "resume"), ("verfy", "verify"), ("x", nil),
            ("abcdef", nil),
            ("r", nil), ("", nil), ("stat", "status"), ("sume", "resume"), ("atus", "status"), ("try", nil),
        ]
    )
    func nearest(_ word: String, _ name: String?) {
        #expect(Spelling.nearest(to: word, among: ["run", "resume", "status", "verify", "retry"]) == name)
    }
}
