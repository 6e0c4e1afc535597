import Foundation
import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Masks as runs")
struct RunLengthMaskTests {
    struct Document: Decodable { let cases: [Case] }

    struct Case: Decodable {
        let name: String
        let width: Int
        let height: Int
        let rows: [String]
        let counts: [Int]
        let text: String
        let area: Int
        let box: [Int]
    }

    private static func cases() throws -> [Case] {
        let bytes = try Fixtures.bytes("Instances/pycocotools-masks.json")
        return try JSONDecoder().decode(Document.self, from: Data(bytes)).cases
    }

    @Test("Counts, text, area and box are those of pycocotools")
    func pycocotools() throws {
        let cases = try Self.cases()
        #expect(cases.count == 8)
        for item in cases {
            let rows = item.rows.map { Array($0.utf8) }
            let mask = RunLengthMask(width: item.width, height: item.height) { x, y in rows[y][x] == UInt8(ascii: "1") }
            #expect(mask.counts.map(Int.init) == item.counts, "\(item.name)")
            #expect(mask.cocoString == item.text, "\(item.name)")
            #expect(mask.area == item.area, "\(item.name)")
            let box = mask.box.map { [$0.x, $0.y, $0.width, $0.height] } ?? [0, 0, 0, 0]
            #expect(box == item.box, "\(item.name)")
            let read = try RunLengthMask(width: item.width, height: item.height, cocoString: item.text)
            #expect(read == mask, "\(item.name)")
            #expect(try RunLengthMask(width: item.width, height: item.height, counts: item.counts) == mask)
        }
    }

    @Test("The masks of a label map are those of its labels one by one")
    func labels() throws {
        var random = SplitMix64(seed: 6)
        for (width, height, most) in [(1, 1, 1), (7, 5, 3), (40, 31, 9), (5, 64, 1)] {
            let map = (0..<width * height).map { _ in UInt16.random(in: 0...UInt16(most), using: &random) }
            let masks = try map.withUnsafeBufferPointer {
                try RunLengthMask.masks(of: $0, width: width, height: height, flag: CancellationFlag())
            }
            #expect(Set(masks.keys) == Set(map).subtracting([0]))
            for (value, mask) in masks {
                #expect(mask == RunLengthMask(width: width, height: height) { x, y in map[y * width + x] == value })
            }
        }
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try [UInt16](repeating: 1, count: 4).withUnsafeBufferPointer {
                try RunLengthMask.masks(of: $0, width: 2, height: 2, flag: flag)
            }
        }
    }

    @Test("The overlap of two masks is what counting pixels gives")
    func overlap() {
        var random = SplitMix64(seed: 4)
        for share in [0.0, 0.1, 0.5, 0.9, 1.0] {
            let a = (0..<35 * 21).map { _ in Double.random(in: 0..<1, using: &random) < share }
            let b = (0..<35 * 21).map { _ in Double.random(in: 0..<1, using: &random) < 0.4 }
            let first = RunLengthMask(width: 35, height: 21) { a[$1 * 35 + $0] }
            let second = RunLengthMask(width: 35, height: 21) { b[$1 * 35 + $0] }
            let counted = zip(a, b).count { $0 && $1 }
            #expect(first.overlap(with: second) == counted)
            #expect(second.overlap(with: first) == counted)
        }
    }

    @Test(
        "Texts and counts that no mask has are refused",
        arguments: ["", "0", "63204", "ooooooooooooooo0", "P", "\u{7F}", "é"]
    )
    func hostileText(_ text: String) {
        #expect(throws: NetworkOutputError.self) { try RunLengthMask(width: 3, height: 3, cocoString: text) }
    }

    @Test(
        "Counts that do not fill the picture are refused",
        arguments: [[], [8], [10], [-1, 10], [3, Int.max], [Int.max, Int.max], [4, 4]]
    )
    func hostileCounts(_ counts: [Int]) {
        #expect(throws: NetworkOutputError.self) { try RunLengthMask(width: 3, height: 3, counts: counts) }
    }

    @Test("A disc enlarged tenfold has a hundred times its area and the same place, whatever the threads")
    func enlarging() async throws {
        let (width, height) = (60, 40)
        let labels = (0..<width * height).map { place -> UInt16 in
            let (x, y) = (Double(place % width) + 0.5, Double(place / width) + 0.5)
            if (x - 20) * (x - 20) + (y - 20) * (y - 20) < 144 { return 1 }
            return (x - 45) * (x - 45) + (y - 20) * (y - 20) < 100 ? 2 : 0
        }
        let small = InstanceSplitter.Labels(width: width, height: height, labels: labels, confidences: [1, 1])
        let results = try await resultsForWidths { scope in
            try RunLengthMask.masks(of: small, width: 600, height: 400, scope: scope)
        }
        for masks in results {
            #expect(masks == results[0])
            for label in 1...2 {
                let pixels = labels.count { $0 == UInt16(label) }
                #expect(abs(Double(masks[label - 1].area) / Double(100 * pixels) - 1) < 0.01)
            }
            let box = try #require(masks[0].box)
            #expect(abs(box.x - 80) <= 5 && abs(box.x + box.width - 320) <= 5)
            #expect(abs(box.y - 80) <= 5 && abs(box.y + box.height - 320) <= 5)
            #expect(masks[0].overlap(with: masks[1]) == 0)
        }
    }

    @Test("Masks at their own size stay what they are")
    func sameSize() throws {
        let labels: [UInt16] = [1, 1, 0, 2, 0, 1, 2, 2, 3, 3, 3, 0]
        let small = InstanceSplitter.Labels(width: 4, height: 3, labels: labels, confidences: [1, 1, 1])
        let masks = try RunLengthMask.masks(of: small, width: 4, height: 3, scope: .serial())
        for label in 1...3 {
            #expect(masks[label - 1] == RunLengthMask(width: 4, height: 3) { labels[$1 * 4 + $0] == UInt16(label) })
        }
    }
}
