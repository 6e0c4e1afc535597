import Foundation
import NocturneReport
import Testing

@Suite("Parts of a verification")
struct VerifiedPartsTests {
    private func part(_ text: String) throws -> VerificationPart { try #require(VerificationPart(text)) }

    @Test(
        "Every item is in one part, whatever their number, and parts have about the same size",
        arguments: [1, 2, 7, 30]
    )
    func division(count: Int) throws {
        let parts = try (1...count).map { try part("\($0)/\(count)") }
        let names = (0..<3000).map { "sub-\($0)_CT" }
        let sizes = parts.map { part in names.count { part.contains($0) } }
        #expect(sizes.reduce(0, +) == names.count)
        #expect(names.allSatisfy { name in parts.count { $0.contains(name) } == 1 })
        // Five standard deviations of an even division.
        let mean = 3000 / Double(count)
        #expect(sizes.allSatisfy { abs(Double($0) - mean) <= 5 * mean.squareRoot() }, "\(sizes)")
    }

    @Test("The part of a name stays: it is that of another implementation")
    func fixed() throws {
        // python3: int(hashlib.sha256(b"ct-1").hexdigest()[:15], 16) % 7
        #expect(try part("1/7").contains("ct-1"))
        #expect(try part("9/30").contains("Übersicht"))
    }

    @Test(
        "Texts that are no part are refused",
        arguments: ["", "3", "0/7", "8/7", "1/0", "1/10001", "a/b", "1/2/3", "-1/2", "1/ 2"]
    )
    func parsing(text: String) { #expect(VerificationPart(text) == nil) }

    @Test("The oldest time is that of all parts; with another number of parts the earlier ones count together")
    func times() throws {
        var parts = VerifiedParts()
        #expect(parts.missing == [1] && parts.oldest == nil)
        for (number, time) in [(1, "2026-01-01"), (3, "2026-01-03")] { parts.add(try part("\(number)/3"), at: time) }
        #expect(parts.missing == [2] && parts.oldest == nil)
        parts.add(try part("2/3"), at: "2026-01-02")
        parts.add(try part("1/3"), at: "2026-01-05")
        #expect(parts.missing == [] && parts.oldest == "2026-01-02")
        parts.add(try part("2/2"), at: "2026-01-06")
        #expect(parts.count == 2 && parts.oldest == "2026-01-02")
        parts.add(nil, at: "2026-01-07")
        #expect(parts.count == 2 && parts.oldest == "2026-01-07")
        var other = VerifiedParts()
        other.add(try part("1/3"), at: "2026-01-01")
        other.add(try part("1/2"), at: "2026-01-02")
        #expect(other.missing == [2])
    }

    @Test("A count in a journal that others have changed takes no time")
    func foreignCount() throws {
        let text = #"{"count":1000000000000,"times":{}}"#
        var parts = try JSONDecoder().decode(VerifiedParts.self, from: Data(text.utf8))
        #expect(parts.missing.count == 10_000)
        parts.add(nil, at: "2026-01-01")
        #expect(parts.missing == [] && parts.oldest == "2026-01-01")
    }
}
