import NocturneSystem
import Testing

@Suite("Names in a message")
struct ListedTests {
    @Test(
        "are given up to a number, with a mark for those that are left out",
        arguments: [([], ""), (["a"], "a"), (["a", "b"], "a, b"), (["a", "b", "c"], "a, b and 1 more")]
    )
    func listing(names: [String], text: String) { #expect(listed(names, most: 2) == text) }
}
