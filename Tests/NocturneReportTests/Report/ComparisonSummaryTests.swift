import NocturneJournal
import NocturneReport
import Testing

@Suite("Agreement with references over a batch")
struct ComparisonSummaryTests {
    @Test("The worst volume difference is the one furthest from 0, the worst Dice the lowest")
    func worst() throws {
        var collector = ComparisonSummary.Collector()
        for (name, difference, dice) in [("a", 5.0, 0.9), ("b", -8.0, 0.5), ("c", 0.0, 0.7), ("d", 8.0, 0.8)] {
            collector.add(
                model: "m",
                name: name,
                [
                    Statistic(label: "liver", measure: "volumeDifference", value: difference, unit: "ml"),
                    Statistic(label: "liver", measure: "dice", value: dice, unit: "1"),
                ]
            )
        }
        let summaries = collector.summaries()
        #expect(summaries.map(\.measure) == ["dice", "volumeDifference"])
        #expect(summaries.map(\.worstItems) == [["b", "c", "d", "a"], ["b", "d", "a", "c"]])
        #expect(summaries.map(\.worst) == [0.5, -8] && summaries.map(\.median) == [0.75, 2.5])
    }
}
