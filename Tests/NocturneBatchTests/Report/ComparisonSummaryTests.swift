import NocturneBatch
import NocturneJournal
import Testing

@Suite("The table of comparisons")
struct ComparisonSummaryTests {
    @Test("Mean, median and the worst items, where little is bad for one measure and good for another")
    func summary() throws {
        func row(_ measure: String, _ value: Double?, _ unit: String) -> Statistic {
            Statistic(label: "liver", measure: measure, value: value, unit: unit)
        }
        let dice: [Double?] = [0.9, 0.5, nil, 0.8, 0.95, 0.7, 0.6, 0.99]
        let rows = dice.map {
            [row("dice", $0, "1"), row("hausdorff95", $0.map { 10 - $0 }, "mm"), row("volume", 3, "ml")]
        }
        let names = (0..<8).map { "case-\($0)" }
        var collector = ComparisonSummary.Collector()
        for (name, own) in zip(names, rows) { collector.add(model: "m", name: name, own) }
        let found = collector.summaries()
        #expect(found.map(\.measure) == ["dice", "hausdorff95"])
        let first = try #require(found.first)
        #expect(first.count == 7 && first.median == 0.8 && first.worst == 0.5)
        #expect(abs(first.mean - 5.44 / 7) < 1e-6)
        #expect(first.worstItems == ["case-1", "case-6", "case-5", "case-3", "case-0"])
        #expect(found[1].worst == 9.5 && found[1].worstItems == first.worstItems)
        var other = ComparisonSummary.Collector()
        other.add(model: "m", name: "a", [row("volume", 3, "ml")])
        #expect(other.summaries().isEmpty)
    }
}
