import NocturneBatch
import Testing

@Suite("Advice for the next run")
struct RunFiguresTests {
    @Test("A run gives advice where a tenth of its time or more could be saved, and none if it was short or well used")
    func advice() throws {
        var figures = RunFigures()
        (figures.seconds, figures.threads, figures.items) = (3600, 8, 100)
        figures.processorSeconds = 0.9 * 8 * 3600
        #expect(figures.advice == nil)
        var idle = figures
        idle.processorSeconds = 0.3 * 8 * 3600
        #expect(try #require(idle.advice).contains("30 %") && idle.advice?.contains("--threads 4") == true)
        idle.loadSeconds = 4000
        #expect(idle.advice?.contains("local disk") == true)
        idle.seconds = 60
        #expect(idle.advice == nil)
        var lean = figures
        (lean.leanItems, lean.budgetBytes, lean.sufficientBytes) = (20, 4 << 30, 6 << 30)
        #expect(
            try #require(lean.advice).contains("20 of 100 items") && lean.advice?.contains("--memory 6145M") == true
        )
        var full = figures
        full.diskWaitSeconds = 720
        #expect(full.advice?.contains("12 min of 60 min") == true)
    }
}
