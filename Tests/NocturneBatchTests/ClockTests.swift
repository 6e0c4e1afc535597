import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("The system's clock is set during a run")
struct ClockTests {
    @Test("Durations are those of the monotonic clock", arguments: [-86_400, 86_400])
    func durations(change: Int) async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let time = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let recipe = TextRecipe { stage, _ in
            guard stage == .infer else { return }
            time.advance(by: .seconds(30))
            var clock = time.wallClock
            clock.seconds += change
            time.setWallClock(clock)
        }
        let outcome = try await batch.run(recipe) { $0.time = time }
        #expect(outcome.counts.completed == 3)
        let completed = try batch.events("itemCompleted")
        let seconds = completed.compactMap { line in
            line.split(separator: "\"seconds\":").last.flatMap { Double($0.prefix { "0123456789.-".contains($0) }) }
        }
        // An item may wait for the 30 s of the two others; on a busy machine each second of the monitors, which takes no time
        // here, comes many times meanwhile. The clock is set by a day.
        #expect(seconds.count == 3 && seconds.allSatisfy { (30...40_000).contains($0) }, "\(completed)")
        let pace = try await Journal.with(path: batch.output.journal, readsCopy: { true }) {
            try await $0.value(of: .pace)
        }
        let learned = try #require(pace?.seconds(model: "text", steps: 1))
        #expect((1...40_000).contains(learned), "\(learned)")
    }
}
