import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Pauses and order of a run")
struct RunPauseTests {
    private func time() -> ManualTime { ManualTime(wallClock: SystemTime().wallClock) }

    private func recordedPause(_ batch: TextBatch) async throws -> RunPause? {
        try await batch.output.reading { try await $0.value(of: .pause) }
    }

    /// The items in the order in which they were started.
    private func started(_ batch: TextBatch) throws -> [String] {
        try batch.events("itemStarted").compactMap { line in
            try JSONDecoder().decode(BatchEvent.self, from: Data(line.utf8)).item
        }
    }

    @Test("Nothing is started in a pause; it outlasts the run, and continuing completes the batch")
    func outlasts() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        let (pause, clock) = (RunPause(since: 5), time())
        batch.control.pause(pause)
        async let first = batch.run(TextRecipe()) { $0.time = clock }
        // A run that is cancelled before it has found its items throws. Whoever asks for the state of the lock takes it for an instant,
        // for which a run that begins would wait by a clock that stands.
        #expect(await until { (try? batch.events("paused").count) == 1 })
        #expect(await until { BatchLock.state(of: batch.output).holder?.waitingFor == "the end of the pause" })
        #expect(try batch.events("paused").count == 1)
        batch.control.cancel()
        #expect(try await first.counts.notReached == 2)
        #expect(try await recordedPause(batch) == pause && started(batch).isEmpty)
        let again = batch.again()
        async let second = again.run(TextRecipe()) { $0.time = clock }
        #expect(await until { (try? batch.events("paused").count) == 2 })
        #expect(again.control.pause == pause)
        again.control.endPause()
        #expect(try await second.counts.completed == 2)
        #expect(try batch.events("continued").count == 1)
        #expect(try await recordedPause(batch) == nil)
    }

    @Test("Active items wait at their next stage, and go on where they were")
    func waits() async throws {
        let batch = try TextBatch(["a": "one"])
        let control = batch.control
        let stages = Mutex<[Stage]>([])
        let recipe = TextRecipe { stage, _ in
            stages.withLock { $0.append(stage) }
            if stage == .load { control.pause(RunPause(since: 5)) }
        }
        async let outcome = batch.run(recipe) { $0.time = time() }
        #expect(await until { (try? batch.events("paused").count) == 1 })
        control.endPause()
        #expect(try await outcome.counts.completed == 1)
        #expect(stages.withLock { $0 } == [.load, .prepare, .infer, .render, .write])
        #expect(try batch.events("itemInterrupted").isEmpty)
    }

    @Test("The recorded seconds of stages have no pauses in them, those of writing included")
    func seconds() async throws {
        let batch = try TextBatch(["a": "one"])
        let (control, clock) = (batch.control, time())
        let recipe = TextRecipe { stage, _ in if stage == .load { control.pause(RunPause(since: 5)) } }
        async let outcome = batch.run(recipe) { $0.time = clock }
        #expect(await until { (try? batch.events("paused").count) == 1 })
        clock.advance(by: .seconds(2))
        control.endPause()
        #expect(try await outcome.counts.completed == 1)
        let seconds = try #require(ResultFolder(batch.output.item("a")).stageSeconds())
        #expect(seconds.keys.contains("write") && seconds.values.allSatisfy { $0 == 0 }, "\(seconds)")
    }

    @Test("A pause that releases memory puts active items back, and they are the first to be continued")
    func releases() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let control = batch.control
        let isFirst = Mutex(true)
        var disturbed = TextRecipe { stage, name in
            guard stage == .prepare, name == "a" else { return }
            isFirst.withLock { isFirst in
                if isFirst { control.pause(RunPause(since: 5, releasesMemory: true)) }
                isFirst = false
            }
        }
        disturbed.memoryBytes = { _ in 600_000 }
        let recipe = disturbed
        async let outcome = batch.run(recipe) {
            $0.time = time()
            $0.resources.memoryBytes = 1 << 20
        }
        #expect(await until { (try? batch.events("itemInterrupted").count) == 1 })
        #expect(try batch.events("itemInterrupted").first?.contains("its memory released") == true)
        control.endPause()
        let counts = try await outcome.counts
        #expect(counts.completed == 3 && counts.cancelled == 0)
        #expect(try started(batch) == ["a", "a", "b", "c"])
    }

    @Test("A pause ends by itself when its time is over, also while no run is active")
    func ends() async throws {
        let batch = try TextBatch(["a": "one"])
        let clock = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let now = clock.wallClock.seconds
        batch.control.pause(RunPause(since: now, until: now + 7200))
        #expect(try await batch.run(TextRecipe()) { $0.time = clock }.counts.completed == 1)
        #expect(try batch.events("continued").first?.contains("the pause is over") == true)
        #expect(clock.wallClock.seconds >= now + 7200)
        try batch.write("b", "two")
        try await Journal.with(path: batch.output.journal) {
            try await $0.set(.pause, to: RunPause(since: 1, until: 2))
        }
        #expect(try await batch.again().run(TextRecipe()) { $0.time = clock }.counts.completed == 2)
        #expect(try await recordedPause(batch) == nil && batch.events("paused").count == 1)
    }

    @Test("A request that comes before the run has read its pause counts", arguments: [false, true])
    func requestBeforePauseIsRead(awaitsApproval: Bool) async throws {
        let batch = try TextBatch(["a": "one"])
        let clock = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let earlier = RunPause(since: 1, awaitsApproval: awaitsApproval)
        try batch.output.create()
        struct Pilot: Codable {
            var count = 1
            var completedBefore = 0
            var isApproved = false
        }
        try await Journal.with(path: batch.output.journal) { journal in
            if awaitsApproval { try await journal.set(JournalSetting<Pilot>(json: "pilot"), to: Pilot()) }
            try await journal.set(.pause, to: earlier)
        }
        batch.control.endPause(isApproved: awaitsApproval)
        #expect(try await batch.run(TextRecipe()) { $0.time = clock }.counts.completed == 1)
        #expect(try await recordedPause(batch) == nil && batch.events("paused").isEmpty)
        try await Journal.with(path: batch.output.journal) { try await $0.set(.pause, to: earlier) }
        let again = batch.again()
        let requested = RunPause(since: clock.wallClock.seconds, until: clock.wallClock.seconds + 60)
        try batch.write("b", "two")
        again.control.pause(requested)
        #expect(try await again.run(TextRecipe()) { $0.time = clock }.counts.completed == 2)
        #expect(clock.wallClock.seconds >= requested.since + 60)
        #expect(try await recordedPause(batch) == nil)
    }

    @Test("A request to start nothing more ends a paused run; its items are left to the next one, which is paused")
    func drained() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        let control = batch.control
        let recipe = TextRecipe { stage, _ in if stage == .load { control.pause(RunPause(since: 5)) } }
        async let outcome = batch.run(recipe) { $0.time = time() }
        #expect(await until { (try? batch.events("paused").count) == 1 })
        control.drain()
        let ended = try await outcome
        #expect(ended.counts.notReached == 2 && ended.mode == .draining)
        #expect(try await recordedPause(batch) == RunPause(since: 5))
    }

    /// Items of which one fits into the budget at a time.
    private func oneByOne(
        _ batch: TextBatch,
        _ recipe: TextRecipe,
        _ change: (inout TextBatch.Setup) -> Void = { _ in }
    ) async throws -> BatchOutcome {
        var recipe = recipe
        recipe.memoryBytes = { _ in 600_000 }
        return try await batch.run(recipe) {
            $0.resources.memoryBytes = 1 << 20
            change(&$0)
        }
    }

    @Test("Items are put first in a run, also those that were not read from the journal yet")
    func first() async throws {
        let names = (0..<200).map { "\($0 + 100)" }
        let batch = try TextBatch(Dictionary(uniqueKeysWithValues: names.map { ($0, "text") }))
        let control = batch.control
        let recipe = TextRecipe { stage, name in
            // What has ended and what there is not stays without effect.
            if stage == .load, name == "101" { control.putFirst(FirstRequest(["290", "none", "100", "105"])) }
        }
        #expect(try await oneByOne(batch, recipe).counts.completed == 200)
        let order = try started(batch)
        #expect(order.prefix(6) == ["100", "101", "290", "105", "102", "103"], "\(order.prefix(8))")
        #expect(Set(order).count == 200 && order.count == 200)
    }

    @Test("What a run was asked to put first before it processed anything is kept for the next one")
    func firstBeforeProcessing() async throws {
        let batch = try TextBatch(["a": "1", "b": "2", "c": "3"])
        batch.control.putFirst(FirstRequest(["c"]))
        batch.control.cancel()
        await #expect(throws: CancelledError.self) { try await batch.run(TextRecipe()) }
        #expect(try await batch.output.reading { try await $0.value(of: .firstItems) } == ["c"])
    }

    @Test("The order is kept for the next run, and a pilot takes those that come first")
    func keptOrder() async throws {
        let batch = try TextBatch(["a": "1", "b": "2", "c": "3", "d": "4"])
        let control = batch.control
        let stopping = TextRecipe { stage, name in
            if stage == .load {
                control.putFirst(FirstRequest(["d", "c"]))
                control.drain()
            }
        }
        #expect(try await oneByOne(batch, stopping).counts.notReached == 4)
        try await Journal.with(path: batch.output.journal) { try await $0.putFirst(["c"]) }
        let pilot = try await batch.again().run(TextRecipe()) { $0.rules.pilot = 2 }
        #expect(pilot.counts.completed == 2)
        #expect(try started(batch) == ["a", "c", "d"])
        #expect(try await oneByOne(batch.again(), TextRecipe()).counts.completed == 4)
        #expect(try started(batch) == ["a", "c", "d", "a", "b"])
    }

    @Test("For an item that is to be processed now, an active one is put back, and continued after it")
    func now() async throws {
        let batch = try TextBatch(["a": "1", "b": "2", "c": "3", "d": "4"])
        let control = batch.control
        let isFirst = Mutex(true)
        let recipe = TextRecipe { stage, name in
            guard stage == .prepare, name == "a" else { return }
            let asks = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard asks else { return }
            control.putFirst(FirstRequest(["d"], now: true))
            blockThread { control.postponement(of: "a") != nil }
        }
        #expect(try await oneByOne(batch, recipe).counts.completed == 4)
        #expect(try started(batch) == ["a", "d", "a", "b", "c"])
        #expect(try batch.events("itemInterrupted").first?.contains("another item is processed first") == true)
    }

    @Test("After a pilot the others wait for its approval, also in later runs, and nothing is done twice")
    func approval() async throws {
        let batch = try TextBatch(["a": "1", "b": "2", "c": "3", "d": "4", "e": "5"])
        let clock = time()
        func run(_ batch: TextBatch, waits: Bool, pilot: Int? = nil) async throws -> BatchOutcome {
            try await batch.run(TextRecipe()) {
                ($0.rules.waitsForApproval, $0.rules.pilot, $0.rules.needsApproval) = (waits, pilot, pilot != nil)
                $0.time = clock
            }
        }
        let first = try await run(batch, waits: false, pilot: 2)
        #expect(first.counts.completed == 2 && first.isTripped && first.givenUp == nil)
        #expect(try batch.events("paused").first?.contains("nocturne approve") == true)
        // The same command, and one without a pilot.
        for pilot in [2, nil] {
            let again = try await run(batch.again(), waits: false, pilot: pilot)
            #expect(again.counts.completed == 2 && again.isTripped)
        }
        let waiting = batch.again()
        async let second = run(waiting, waits: true)
        // As above: only then its lock is asked for.
        #expect(await until { waiting.control.pause != nil })
        #expect(
            await until { BatchLock.state(of: batch.output).holder?.waitingFor == "the approval of the pilot" }
        )
        #expect(try await recordedPause(batch)?.awaitsApproval == true)
        waiting.control.endPause(isApproved: true)
        #expect(try await second.counts.completed == 5)
        #expect(try await recordedPause(batch) == nil && started(batch).count == 5)
        // What was approved needs no second approval.
        try batch.write("f", "6")
        #expect(try await run(batch.again(), waits: false, pilot: 2).counts.completed == 6)
    }

    @Test("A pilot that was interrupted is continued, and only then waits for its approval")
    func interruptedPilot() async throws {
        let batch = try TextBatch(["a": "1", "b": "2", "c": "3", "d": "4", "e": "5"])
        let control = batch.control
        let recipe = TextRecipe { stage, _ in if stage == .write { control.drain() } }
        let interrupted = try await oneByOne(batch, recipe) { ($0.rules.pilot, $0.rules.needsApproval) = (3, true) }
        #expect(interrupted.counts.completed < 3 && !interrupted.isTripped)
        let again = try await oneByOne(batch.again(), TextRecipe()) { $0.rules.waitsForApproval = false }
        #expect(again.counts.completed == 3 && again.isTripped)
        try await Journal.with(path: batch.output.journal) { try await $0.approvePilot() }
        #expect(try await oneByOne(batch.again(), TextRecipe()).counts.completed == 5)
    }
}
