import NocturneSystem
import Testing

@Suite("Counts with their nouns")
struct CountedTests {
    @Test("One has the noun alone, every other number its plural")
    func plurals() {
        #expect([0, 1, 2].map { counted($0, "item") } == ["0 items", "1 item", "2 items"])
        #expect([1, 3].map { counted($0, "copy", plural: "copies") } == ["1 copy", "3 copies"])
    }
}
