import NocturneBatch
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("The report while items are processed")
struct CurrentReportTests {
    /// Counts what is written; each time takes a while.
    private final class Writer: Sendable {
        let time = ManualTime()
        let count = Mutex(0)
        func write(taking duration: Duration) {
            time.advance(by: duration)
            count.withLock { $0 += 1 }
        }
    }

    @Test("is written at the end of an item, half a minute after the last time or twenty times what that took")
    func pauses() async {
        let writer = Writer()
        let report = CurrentReport(time: writer.time) { writer.write(taking: .seconds(10)) }
        func written(after pause: Duration) async -> Int {
            writer.time.advance(by: pause)
            await report.itemEnded()
            await report.idle()
            return writer.count.withLock { $0 }
        }
        #expect(await written(after: .seconds(29)) == 0)
        #expect(await written(after: .seconds(1)) == 1)
        #expect(await written(after: .seconds(199)) == 1)
        #expect(await written(after: .seconds(1)) == 2)
        // Without the end of an item nothing is written, however long it takes.
        writer.time.advance(by: .seconds(3600))
        await report.idle()
        #expect(writer.count.withLock { $0 } == 2)
    }

    @Test("Rows of a reference table that no result has are named once, at the end of the run")
    func unusedRanges() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let time = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        // Longer than the pause between two reports.
        let recipe = TextRecipe { stage, _ in if stage == .infer { time.advance(by: .seconds(60)) } }
        let ranges = try ReferenceRange.parse(Array("label,measure,low,high\nlivr,volume,1,2\n".utf8))
        let outcome = try await batch.run(recipe) {
            $0.time = time
            $0.rules.referenceRanges = ranges
        }
        #expect(outcome.counts.completed == 3 && outcome.remarks?.unusedRanges == ["livr volume"])
        let notes = try batch.events("note").filter { $0.contains("1 row of --norms: livr volume. Compare") }
        #expect(notes.count == 1, "\(notes)")
    }
}
