import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A batch on a machine that does not behave: full disks, sources that change, inputs that come late, reads that never end.
@Suite("Conditions of a batch")
struct BatchConditionTests {
    private func times(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) -> @Sendable () throws -> Void {
        let calls = Mutex(0)
        return {
            let call = calls.withLock { calls -> Int in
                calls += 1
                return calls
            }
            if call <= count { try body(call) }
        }
    }

    @Test("A full disk is waited for, and fails nothing")
    func fullDisk() async throws {
        // One item: another one that is completed meanwhile would show that the disk has space.
        let batch = try TextBatch(["a": "one"])
        let full = times(1) { _ in throw FileSystemError(operation: "write", path: "x", code: ENOSPC) }
        // Stands still until the run waits: a clock that runs may pass the second of waiting while the end of the item is recorded.
        let time = ManualTime(wallClock: SystemTime().wallClock)
        let isOver = Mutex(false)
        let clock = Task {
            var turns = 0
            while !isOver.withLock({ $0 }) {
                turns += 1
                let events = (try? batch.events("disk")) ?? []
                if !events.isEmpty || turns > 100_000 { time.advance(by: .seconds(1)) }
                await Task.yield()
            }
        }
        let outcome = try await batch.run(TextRecipe { stage, _ in if stage == .write { try full() } }) {
            $0.time = time
        }
        isOver.withLock { $0 = true }
        await clock.value
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 0)
        #expect(try batch.text("a") == "ONE")
        #expect(try batch.events("disk").contains { $0.contains("has refused to write") })
        #expect(try batch.events("disk").contains { $0.contains("has free space again") })
    }

    @Test(
        "A run that is stopped while the disk has no space for its report is given up, and the next one writes the report"
    )
    func reportWithoutSpace() async throws {
        let batch = try TextBatch(["a": "one"])
        let isWriting = Mutex(false)
        var recipe = TextRecipe { stage, _ in if stage == .write { isWriting.withLock { $0 = true } } }
        recipe.summary = { [control = batch.control] in
            guard isWriting.withLock({ $0 }) else { return }
            control.cancel()
            throw FileSystemError(.write, path: "x", code: ENOSPC)
        }
        let outcome = try await batch.run(recipe)
        #expect(outcome.givenUp?.contains("No space left") == true)
        let next = try await batch.again().run(TextRecipe())
        #expect(next.givenUp == nil && next.counts.completed == 1)
    }

    @Test(
        "An item that fills the disk three times alone fails with the figures, and the others go on",
        arguments: [ENOSPC, EDQUOT],
        [FullDiskPolicy.pause, .stop]
    )
    func itemThatFillsTheDisk(code: Int32, rule: FullDiskPolicy) async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let order = Mutex([String]())
        let outcome = try await batch.run(
            TextRecipe { stage, name in
                guard stage == .write else { return }
                order.withLock { $0.append(name) }
                if name == "b" { throw FileSystemError(operation: "write", path: "x", code: code) }
            }
        ) { $0.rules.onFull = rule }
        #expect(outcome.counts.completed == 2 && outcome.counts.failed == 1 && outcome.counts.notReached == 0)
        #expect(try batch.text("a") == "ONE" && batch.text("c") == "THREE")
        let items = Array(try await Journal.with(path: batch.output.journal) { try await $0.items() })
        let failed = try #require(items.first { $0.name == "b" })
        #expect(failed.state == .failed && failed.reason?.code == .diskFull)
        let text = failed.reason?.text ?? ""
        #expect(
            text.contains("became full 3 times while only this item was active")
                && text.contains("were free when it was")
        )
        let seen = order.withLock { $0 }
        #expect(seen.count { $0 == "b" } >= 3 && seen.last == "b", "\(seen)")
        #expect(!FileSystem.exists(batch.output.staging("b")))
        #expect(try await batch.again().run(TextRecipe()) { $0.rules.retries = .all }.counts.completed == 3)
    }

    @Test("An error of the disk that stays is tried three times, then the item fails", arguments: [EIO, ESTALE])
    func failingDisk(code: Int32) async throws {
        let batch = try TextBatch(["a": "one"])
        let calls = Mutex(0)
        let outcome = try await batch.run(
            TextRecipe { stage, _ in
                guard stage == .load else { return }
                calls.withLock { $0 += 1 }
                throw FileSystemError(operation: "read", path: "the/file", code: code)
            }
        )
        #expect(outcome.counts.failed == 1)
        #expect(calls.withLock { $0 } == 3)
        #expect(try batch.events("itemFailed").first?.contains("the/file: cannot read") == true)
    }

    @Test("A lost output ends the run with its reason, blames no item, and the batch can be resumed when it is back")
    func lostOutput() async throws {
        let batch = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let away = batch.folder("away").path
        let lose = times(1) { _ in try FileSystem.move(batch.output.path, to: away) }
        let outcome = try await batch.run(TextRecipe { stage, _ in if stage == .write { try lose() } })
        #expect(outcome.givenUp?.contains("is no longer there") == true)
        #expect(outcome.counts.failed == 0 && outcome.counts.notReached > 0)
        #expect(!FileSystem.exists(batch.output.path))
        try FileSystem.move(away, to: batch.output.path)
        #expect(try await batch.again().run(TextRecipe()).counts.completed == 3)
    }

    @Test("A source that is gone when it is read waits for the next run, and is not failed")
    func vanishedSource() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        let path = batch.folder("in").path + "/a.txt"
        let vanish = times(1) { _ in
            FileSystem.remove(path)
            throw FileSystemError(operation: "read", path: path, code: ENOENT)
        }
        let outcome = try await batch.run(
            TextRecipe { stage, name in if stage == .load && name == "a" { try vanish() } }
        )
        #expect(outcome.counts.completed == 1 && outcome.counts.notReached == 1 && outcome.counts.failed == 0)
        #expect(try batch.events("itemRetried").first?.contains("was removed after the batch began") == true)
        try batch.write("a", "again")
        #expect(try await batch.again().run(TextRecipe()).counts.completed == 2)
    }

    @Test("The lock says what a run waits for, and whether the folder is still in its place")
    func waiting() throws {
        let folder = try TemporaryFolder("lock")
        let output = OutputFolder(folder("out").path)
        try output.create()
        let lock = try BatchLock(output)
        func holder() -> BatchLock.Holder? { BatchLock.state(of: output).holder }
        #expect(holder()?.process.process == getpid() && holder()?.waitingFor == nil)
        lock.say("free space")
        #expect(holder()?.process.process == getpid() && holder()?.waitingFor == "free space")
        lock.say(nil)
        #expect(holder()?.waitingFor == nil && lock.place(in: output) == .same)
        FileSystem.remove(output.lock)
        try FileSystem.write(output.lock, [])
        #expect(lock.place(in: output) == .another)
    }

    @Test("A stop file is seen between two items, and removed")
    func stopFile() async throws {
        let batch = try TextBatch(Dictionary(uniqueKeysWithValues: (0..<200).map { ("w\($0)", "text") }))
        let stop = batch.folder("stop").path
        let outcome = try await batch.run(
            TextRecipe { stage, _ in
                guard stage == .infer else { return }
                try FileSystem.write(stop, [])
                // The file is looked for once a second.
                blockThread { batch.control.mode != .running }
            }
        ) { $0.rules.watch = FolderWatcher(quietSeconds: 0, stopFile: stop, takesStopFile: true) }
        #expect(outcome.counts.completed > 0 && outcome.counts.notReached > 0)
        #expect(outcome.mode == .draining && !FileSystem.exists(stop))
        #expect(try batch.events("note").contains { $0.contains("Stop requested") })
    }

    @Test("A source that changes while it is processed is processed again", arguments: [Stage.load, .infer, .render])
    func changedSource(stage: Stage) async throws {
        let batch = try TextBatch(["a": "old", "b": "other"])
        let change = times(1) { _ in try batch.write("a", "new text") }
        let outcome = try await batch.run(TextRecipe { at, name in if at == stage && name == "a" { try change() } })
        #expect(outcome.counts.completed == 2 && outcome.counts.inputs == 2)
        #expect(try batch.text("a") == "NEW TEXT")
        #expect(try batch.events("itemRetried").count == 1)
    }

    @Test("A source that changes all the time is left to the next run, and never reported as completed")
    func restlessSource() async throws {
        let batch = try TextBatch(["a": "0"])
        let count = Mutex(0)
        let outcome = try await batch.run(
            TextRecipe { stage, _ in
                guard stage == .infer else { return }
                let next = count.withLock { count -> Int in
                    count += 1
                    return count
                }
                try batch.write(
                    "a",
                    "\(next) and longer each time".padding(toLength: 40 + next, withPad: ".", startingAt: 0)
                )
            }
        )
        #expect(outcome.counts.completed == 0 && outcome.counts.notReached == 1)
        #expect(try await batch.run(TextRecipe()).counts.completed == 1)
    }

    @Test("A watch takes what comes later, once it is quiet, and ends at the stop file")
    func watch() async throws {
        let batch = try TextBatch(["a": "one"])
        let stop = batch.folder("stop").path
        let late = times(1) { _ in try batch.write("b", "two") }
        let time = ManualTime(advancesItself: true, wallClock: SystemTime().wallClock)
        let outcome = try await batch.run(
            TextRecipe { stage, name in
                if stage == .write && name == "a" { try late() }
                if stage == .write && name == "b" { try FileSystem.write(stop, []) }
            }
        ) { setup in
            setup.rules.watch = FolderWatcher(quietSeconds: 1, stopFile: stop)
            setup.time = time
        }
        // A file that no search remembers is taken after a day only. The clock runs ahead while files are read, by minutes.
        #expect(time.monotonic < .seconds(43_200))
        #expect(outcome.counts.completed == 2)
        #expect(try batch.text("b") == "TWO")
    }

    @Test("A watch takes files with dates in the future, and notes about the inputs are shown once")
    func future() async throws {
        let batch = try TextBatch(["a": "one"])
        let file = batch.folder("in").path + "/a.txt"
        let date = Date(timeIntervalSinceNow: 86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
        let stop = batch.folder("stop").path
        let rounds = Mutex(0)
        let outcome = try await batch.run(
            TextRecipe()
                .finding { discovery in
                    discovery.notes.append("a note on the inputs")
                    let bad = file + ".bad"
                    var item = DiscoveredItem(
                        key: bad,
                        name: "bad",
                        model: "text",
                        path: bad,
                        fingerprint: ContentDigest.of(bad)
                    )
                    item.problem = .refused("is damaged")
                    discovery.items.append(item)
                    let round = rounds.withLock { rounds -> Int in
                        rounds += 1
                        return rounds
                    }
                    if round == 3 { try FileSystem.write(stop, []) }
                }
        ) { $0.rules.watch = FolderWatcher(quietSeconds: 0, stopFile: stop) }
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        #expect(rounds.withLock { $0 } == 3)
        #expect(try batch.events("note").filter { $0.contains("a note on the inputs") }.count == 1)
        #expect(try batch.events("itemFailed").count == 1)
    }

    @Test("A watch continues after a search of the inputs that fails; a run does not")
    func failedRound() async throws {
        let batch = try TextBatch(["a": "one"])
        let stop = batch.folder("stop").path
        let looks = Mutex(0)
        let recipe = TextRecipe { stage, name in
            if stage == .write && name == "b" { try FileSystem.write(stop, []) }
        }.finding { _ in
            let look = looks.withLock { looks -> Int in
                looks += 1
                return looks
            }
            if look == 2 { throw FileSystemError(operation: "read", path: "the table", code: ENOENT) }
            if look == 3 { try batch.write("b", "two") }
        }
        let outcome = try await batch.run(recipe) { $0.rules.watch = FolderWatcher(quietSeconds: 0, stopFile: stop) }
        #expect(outcome.counts.completed == 2)
        #expect(try batch.events("note").contains { $0.contains("the table") && $0.contains("This round failed") })
        looks.withLock { $0 = 1 }
        await #expect(throws: FileSystemError.self) { try await batch.again().run(recipe) }
    }

    @Test("An engine that follows a crashed one keeps the memory budget of the first; another run does not")
    func limits() async throws {
        let batch = try TextBatch(["a": "one"])
        func budget(_ item: String) throws -> Int? {
            let run = try JSONValue(parsing: FileSystem.read(batch.output.item(item) + "/run.json"))
            return if case .number(let bytes)? = run["budgetBytes"] { Int(bytes) } else { nil }
        }
        func engine(_ memoryBytes: Int?, _ supervisor: String, after crash: String? = nil) async throws {
            _ = try await batch.again()
                .run(TextRecipe()) {
                    $0.resources.memoryBytes = memoryBytes
                    $0.supervision = SupervisionState(supervisor: supervisor, previousCrash: crash)
                }
        }
        try await engine(123 << 20, "first")
        #expect(try budget("a") == 123 << 20)
        try batch.write("b", "two")
        try await engine(nil, "first", after: "signal 9")
        #expect(try budget("b") == 123 << 20)
        try batch.write("c", "three")
        try await engine(99 << 20, "second", after: "signal 9")
        #expect(try budget("c") == 99 << 20)
    }

    @Test("Crashes outside items end the batch when they come in a row, not when items were processed in between")
    func crashesOutsideItems() async throws {
        let batch = try TextBatch(["a": "one"])
        func engine(after crash: String?) async throws {
            _ = try await batch.again()
                .run(TextRecipe()) { $0.supervision = SupervisionState(supervisor: "s", previousCrash: crash) }
        }
        try await engine(after: nil)
        for name in ["b", "c", "d", "e"] {
            try batch.write(name, "text")
            try await engine(after: "signal 9")
        }
        try await engine(after: "signal 9")
        try await engine(after: "signal 9")
        await #expect(throws: BatchError.self) { try await engine(after: "signal 9") }
    }

    @Test("A file that was unfit is no longer failed once it is part of an item")
    func mendedFile() async throws {
        let batch = try TextBatch(["a": "one"])
        let first = try await batch.run(
            TextRecipe()
                .finding { discovery in
                    for index in discovery.items.indices {
                        discovery.items[index].key = DiscoveredItem.fileKeyPrefix + discovery.items[index].path
                        discovery.items[index].name += ".txt"
                        discovery.items[index].problem = .refused("did not answer")
                    }
                }
        )
        #expect(first.counts.failed == 1)
        let second = try await batch.again().run(TextRecipe())
        #expect(second.counts.completed == 1 && second.counts.failed == 0 && second.counts.skipped == 1)
        #expect(try FileSystem.read(batch.output.retryList).isEmpty)
    }

    @Test("A name that comes back in another Unicode form is the same item")
    func unicodeForms() async throws {
        let batch = try TextBatch(["M\u{FC}ller": "one"])
        #expect(try await batch.run(TextRecipe()).counts.completed == 1)
        let folder = batch.folder("in").path
        try FileSystem.move(folder + "/M\u{FC}ller.txt", to: folder + "/Mu\u{308}ller.txt")
        let outcome = try await batch.again().run(TextRecipe())
        #expect(outcome.counts.completed == 1 && outcome.counts.inputs == 1)
    }

    @Test("A result that has taken its place stays there, though what it replaced cannot be moved on")
    func halfExchange() throws {
        let folder = try TemporaryFolder("exchange")
        for name in ["new", "old"] { try folder.write(name, to: name + "/x") }
        try FileSystem.putInPlace(
            folder("new").path,
            at: folder("old").path,
            movingOldTo: folder("missing/folder").path
        )
        #expect(try String(contentsOf: folder("old/x"), encoding: .utf8) == "new")
        #expect(try String(contentsOf: folder("new/x"), encoding: .utf8) == "old")
    }

    @Test("An item that makes no progress is reported, with its stage")
    func stall() async throws {
        let batch = try TextBatch(["a": "one"])
        let reported = Mutex<String?>(nil)
        let outcome = try await batch.run(
            TextRecipe { stage, _ in
                // As a read from an unresponsive share would, until somebody has noticed.
                blockThread { stage != .load || reported.withLock { $0 != nil } }
            }
        ) { $0.rules.stall = StallPolicy(seconds: 1) { text in reported.withLock { $0 = $0 ?? text } } }
        #expect(outcome.counts.completed == 1)
        #expect(reported.withLock { $0 } == "a has made no progress for 1 s (stage load)")
    }
}
