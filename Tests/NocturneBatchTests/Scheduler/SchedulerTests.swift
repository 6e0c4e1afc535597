import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Scheduler")
struct SchedulerTests {
    /// Notes the order of the events.
    private final class Recorder: ProgressView {
        private let lines = Mutex<[String]>([])
        func show(_ event: BatchEvent, _ status: ProgressStatus) {
            if let item = event.item { lines.withLock { $0.append("\(event.event.rawValue) \(item)") } }
        }
        func refresh(_ status: ProgressStatus) {}
        func close() {}
        var all: [String] { lines.withLock { $0 } }
        func first(_ line: String) -> Int { all.firstIndex(of: line) ?? .max }
    }

    @Test("Among fifty small items an item of the size of the whole budget is processed, and so are they")
    func largeAmongSmall() async throws {
        var texts = ["b-large": "large"]
        for index in 0..<50 { texts["\(index < 2 ? "a" : "c")\(index)"] = "small" }
        let batch = try TextBatch(texts)
        let budget = 1 << 20
        var recipe = TextRecipe()
        recipe.memoryBytes = { $0.contains("large") ? budget : budget / 10 }
        let recorder = Recorder()
        let outcome = try await batch.run(recipe) {
            $0.resources.memoryBytes = budget
            $0.view = recorder
        }
        #expect(outcome.counts.completed == 51)
        // What was written last has the largest sum of leases.
        struct Run: Decodable { let predictedPeakBytes: Int }
        let runs = try texts.keys.map {
            try JSONDecoder().decode(Run.self, from: Data(FileSystem.read(batch.output.item($0) + "/run.json")))
        }
        #expect(try #require(runs.map(\.predictedPeakBytes).max()) <= budget)
        // It was not left to the end.
        let after = recorder.all[(recorder.first("itemStarted b-large") + 1)...]
        #expect(after.contains { $0.hasPrefix("itemStarted c") })
    }

    @Test("An item above the budget fails with both figures, and the others are processed")
    func aboveTheBudget() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        var recipe = TextRecipe()
        recipe.memoryBytes = { $0.hasPrefix("a") ? 2 << 20 : 1000 }
        let outcome = try await batch.run(recipe) { $0.resources.memoryBytes = 1 << 20 }
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        let text = "needs 2 MiB of memory, the budget leaves 1 MiB"
        #expect(try batch.events("itemFailed").first?.contains(text) == true)
    }

    @Test("The event of every item that ends has the counts that the line about it shows")
    func counts() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        batch.control.cancel(item: "b")
        var recipe = TextRecipe()
        recipe.memoryBytes = { $0.hasPrefix("a") ? 2 << 20 : 1000 }
        _ = try await batch.run(recipe) { $0.resources.memoryBytes = 1 << 20 }
        let ends = try ["itemCompleted", "itemFailed", "itemCancelled"].map { try #require(batch.events($0).first) }
        let events = try ends.map { try JSONDecoder().decode(BatchEvent.self, from: Data($0.utf8)) }
        #expect(Set(events.compactMap(\.done)) == [1, 2, 3], "\(ends)")
        #expect(events.allSatisfy { $0.total == 3 && $0.failed != nil }, "\(ends)")
    }

    @Test("The hours are slept through, and the first item starts when they begin")
    func hours() async throws {
        let batch = try TextBatch(["a": "one"])
        let time = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let now = WorkingHours().secondsSinceMidnight(time.wallClock)
        // In an hour or two, by the minute.
        let opens = (now / 60 + 60) % 1440
        let window = "\(opens / 60):\(opens % 60)-\((opens / 60 + 1) % 24):\(opens % 60)"
        let outcome = try await batch.run(TextRecipe()) {
            $0.time = time
            $0.rules.hours = WorkingHours(window: WorkingHours.Window(window))
        }
        #expect(outcome.counts.completed == 1)
        #expect(try batch.events("note").contains { $0.contains("Nothing is started before") })
        #expect(time.monotonic >= .seconds(59 * 60))
    }

    @Test("Of items that were loaded before the hours end, only the one whose inference has begun is computed")
    func hoursEnd() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three", "d": "four"])
        let time = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let now = WorkingHours().secondsSinceMidnight(time.wallClock) / 60
        func text(_ minutes: Int) -> String { "\(minutes / 60 % 24):\(minutes % 60)" }
        // Open from a minute ago for an hour.
        let window = try #require(WorkingHours.Window("\(text(now + 1439))-\(text(now + 59))"))
        let hours = WorkingHours(window: window)
        let begun = Mutex<[Int]>([])
        let recipe = TextRecipe { stage, _ in
            guard stage == .infer else { return }
            begun.withLock { $0.append(hours.secondsUntilOpen(at: time.wallClock)) }
            if begun.withLock({ $0.count == 1 }) { time.advance(by: .seconds(3600)) }
        }
        let outcome = try await batch.run(recipe) {
            $0.time = time
            $0.rules.hours = hours
        }
        #expect(outcome.counts.completed == 4)
        #expect(begun.withLock { $0 } == [0, 0, 0, 0])
        #expect(time.monotonic >= .seconds(23 * 3600))
    }

    @Test("A run that is to start nothing more leaves what was only loaded to the next one")
    func draining() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three", "d": "four"])
        let recipe = TextRecipe { [control = batch.control] stage, _ in if stage == .infer { control.drain() } }
        let outcome = try await batch.run(recipe)
        #expect(outcome.counts.completed == 1 && outcome.counts.notReached == 3 && outcome.mode == .draining)
    }

    @Test("A run that waits is cancelled at once")
    func cancelledWhileWaiting() async throws {
        let batch = try TextBatch(["a": "one"])
        let full = FileSystemError(operation: "write", path: "x", code: 28)
        let time = ManualTime(wallClock: SystemTime().wallClock)
        async let outcome = batch.run(
            TextRecipe { stage, _ in if stage == .write { throw full } }
        ) { $0.time = time }
        // It waits for the disk, on a clock that stands still.
        #expect(await until { (try? batch.events("disk"))?.isEmpty == false })
        batch.control.cancel()
        #expect(try await outcome.mode == .cancelled)
        #expect(try await outcome.counts.notReached == 1)
    }

    @Test("A model is released once its last item has ended, not while that is tried again, and the last model never")
    func releasedModels() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let released = Mutex<[String]>([])
        let sessions = Mutex(0)
        let attempts = Mutex(0)
        let isReleased = DispatchSemaphore(value: 0)
        var recipe = TextRecipe { stage, name in
            guard stage == .load else { return }
            if name == "a" {
                let isFirst = attempts.withLock { attempts in
                    attempts += 1
                    return attempts == 1
                }
                #expect(released.withLock { $0 } == ["unneeded"])
                if isFirst { throw FileSystemError(operation: "read", path: "the/file", code: EIO) }
            } else if name == "b" {
                // An item of the other model is left until then; the second loader takes the others. Only a fault takes that
                // long: other tests run at the same time.
                #expect(isReleased.wait(timeout: .now() + .seconds(900)) == .success)
            }
        }.finding { found in
            for index in found.items.indices where found.items[index].name == "a" { found.items[index].model = "first" }
        }
        recipe.shared = SharedMemory(bytes: 1000)
        recipe.shared.ofModels = ["first": 600, "text": 300, "unneeded": 100]
        recipe.sessionsMade = { sessions.withLock { $0 += 1 } }
        recipe.released = { model in
            released.withLock { $0.append(model) }
            if model == "first" { isReleased.signal() }
        }
        let outcome = try await batch.run(recipe)
        #expect(outcome.counts.completed == 3 && attempts.withLock { $0 } == 2)
        #expect(try batch.text("a") == "ONE" && batch.text("c") == "THREE")
        #expect(released.withLock { $0 } == ["unneeded", "first"])
        // One at the beginning, and one after each release.
        #expect(sessions.withLock { $0 } == 3)
        // The next run has items of one model only.
        try batch.write("d", "four")
        #expect(try await batch.again().run(recipe).counts.completed == 4)
        #expect(released.withLock { Set($0.dropFirst(2)) } == ["unneeded", "first"])
    }

    @Test("A watch keeps its models: the next input may need any of them")
    func watchKeepsModels() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        let released = Mutex<[String]>([])
        let stop = batch.folder("stop").path
        var recipe = TextRecipe { stage, name in if stage == .write, name == "b" { try FileSystem.write(stop, []) } }
        recipe.shared.ofModels = ["text": 300, "unneeded": 100]
        recipe.released = { model in released.withLock { $0.append(model) } }
        _ = try await batch.run(recipe) {
            $0.rules.watch = FolderWatcher(quietSeconds: 0, stopFile: stop, takesStopFile: true)
        }
        #expect(released.withLock { $0 }.isEmpty)
    }

    @Test("The first failure ends the run when it is to")
    func firstFailure() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let recipe = TextRecipe { stage, _ in
            if stage == .load { throw FileSystemError(operation: "read", path: "x", code: 13) }
        }
        let rules = try #require(StopRules("failed=1"))
        let outcome = try await batch.run(recipe) { $0.rules.stop = rules }
        #expect(outcome.isTripped && outcome.counts.failed >= 1)
        #expect(outcome.counts.failed + outcome.counts.notReached == 3)
    }
}
