import NocturneRecipeSupport
import Testing

@Suite("Headers that are kept until items are made of them")
struct KeptHeadersTests {
    @Test("are a bounded number, each given once")
    func bounded() {
        let kept = KeptHeaders<Int>(most: 2)
        for number in 0..<3 { kept.keep(number, of: "/\(number)") }
        #expect(kept.take("/0") == 0 && kept.take("/0") == nil)
        #expect(kept.take("/2") == nil && kept.take("/1") == 1)
        kept.keep(3, of: "/3")
        #expect(kept.take("/3") == 3)
    }
}
