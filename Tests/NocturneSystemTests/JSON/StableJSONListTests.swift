import NocturneSystem
import Testing

@Suite("A document with a long list, in parts")
struct StableJSONListTests {
    private struct Document: Encodable {
        struct Element: Encodable {
            let text: String
            let numbers: [Int]
            let inner: [String: [String]]
        }

        let first: String
        let items: [Element]
        let nested: [String: [Int]]
        let zero = 0
    }

    private func document(_ items: [Document.Element]) -> Document {
        // Texts and members that look like the list.
        Document(first: "\n  \"items\" : [\n\n  ]", items: items, nested: ["items": []])
    }

    @Test("has the bytes of the whole document, however it is divided", arguments: [0, 1, 2, 7])
    func sameBytes(count: Int) throws {
        let items = (0..<count).map { number in
            Document.Element(
                text: "line\nline \"\(number)\" / ü",
                numbers: Array(0..<number),
                inner: number % 2 == 0 ? [:] : ["b": [], "a": ["x", "y"]]
            )
        }
        let whole = try StableJSON.encode(document(items))
        for size in 1...8 {
            var list = try StableJSON.List(document([]), list: "items")
            var bytes = list.beginning
            for start in stride(from: 0, to: count, by: size) {
                bytes += try list.part(Array(items[start..<min(start + size, count)]))
                bytes += try list.part([Document.Element]())
            }
            #expect(String(decoding: bytes + list.end, as: UTF8.self) == String(decoding: whole, as: UTF8.self))
        }
    }
}
