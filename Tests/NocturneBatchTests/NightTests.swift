import Foundation
import NocturneBatch
import NocturneCore
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The engine met with what a night brings: full disks, sources that change, inputs that come late, reads that never end.
@Suite("What a night brings")
struct NightTests {
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

    @Test("A full disk is waited for as often as it is full, and fails nothing")
    func fullDisk() async throws {
        let bench = try WordBench(["a": "one", "b": "two"])
        let full = times(3) { _ in throw FileSystemError(operation: "write", path: "x", code: ENOSPC) }
        let outcome = try await bench.run(
            WordRecipe { stage, name in if stage == .write && name == "a" { try full() } }
        )
        #expect(outcome.counts.completed == 2 && outcome.counts.failed == 0)
        #expect(try bench.words("a") == "ONE")
        #expect(try bench.events("disk").contains { $0.contains("has refused to write") })
        #expect(try bench.events("disk").contains { $0.contains("has room again") })
    }

    @Test("Asked to stop at a full disk, it stops so that it can be gone on with")
    func stopAtFullDisk() async throws {
        let bench = try WordBench(["a": "one"])
        let outcome = try await bench.run(
            WordRecipe { stage, _ in
                if stage == .write { throw FileSystemError(operation: "write", path: "x", code: ENOSPC) }
            },
            onFull: .stop
        )
        #expect(outcome.mode == .draining && outcome.counts.notReached == 1 && outcome.counts.failed == 0)
        let next = try await bench.again().run(WordRecipe())
        #expect(next.counts.completed == 1)
    }

    @Test("A fault of the disk that stays is tried three times, then told", arguments: [EIO, ESTALE])
    func failingDisk(code: Int32) async throws {
        let bench = try WordBench(["a": "one"])
        let calls = Mutex(0)
        let outcome = try await bench.run(
            WordRecipe { stage, _ in
                guard stage == .load else { return }
                calls.withLock { $0 += 1 }
                throw FileSystemError(operation: "read", path: "the/file", code: code)
            }
        )
        #expect(outcome.counts.failed == 1)
        #expect(calls.withLock { $0 } == 3)
        #expect(try bench.events("itemFailed").first?.contains("the/file: cannot read") == true)
    }

    @Test("A lost output ends the run with its reason, blames no item, and is gone on with when it is back")
    func lostOutput() async throws {
        let bench = try WordBench(["a": "one", "b": "two", "c": "three"])
        let away = bench.folder("away").path
        let lose = times(1) { _ in try FileSystem.move(bench.output.path, to: away) }
        let outcome = try await bench.run(WordRecipe { stage, _ in if stage == .write { try lose() } })
        #expect(outcome.givenUp?.contains("is not there any more") == true)
        #expect(outcome.counts.failed == 0 && outcome.counts.notReached > 0)
        #expect(!FileSystem.exists(bench.output.path))
        try FileSystem.move(away, to: bench.output.path)
        #expect(try await bench.again().run(WordRecipe()).counts.completed == 3)
    }

    @Test("A source that is gone when it is read waits for the next run, and is not failed")
    func vanishedSource() async throws {
        let bench = try WordBench(["a": "one", "b": "two"])
        let path = bench.folder("in").path + "/a.txt"
        let vanish = times(1) { _ in
            FileSystem.remove(path)
            throw FileSystemError(operation: "read", path: path, code: ENOENT)
        }
        let outcome = try await bench.run(
            WordRecipe { stage, name in if stage == .load && name == "a" { try vanish() } }
        )
        #expect(outcome.counts.completed == 1 && outcome.counts.notReached == 1 && outcome.counts.failed == 0)
        #expect(try bench.events("itemRetried").first?.contains("is gone since the batch began") == true)
        try bench.write("a", "again")
        #expect(try await bench.again().run(WordRecipe()).counts.completed == 2)
    }

    @Test("Who asks is told what a run waits for, and whether its folder is still in its place")
    func waiting() throws {
        let folder = try TemporaryFolder("lock")
        let output = OutputFolder(folder("out").path)
        try output.create()
        let lock = try BatchLock(output)
        #expect(BatchLock.holder(of: output) == getpid() && BatchLock.waiting(in: output) == nil)
        lock.say("room on the disk")
        #expect(BatchLock.holder(of: output) == getpid() && BatchLock.waiting(in: output) == "room on the disk")
        lock.say(nil)
        #expect(BatchLock.waiting(in: output) == nil && lock.place(in: output) == .same)
        FileSystem.remove(output.lock)
        try FileSystem.write(output.lock, [])
        #expect(lock.place(in: output) == .another)
    }

    @Test("A stop file is seen between two items, and taken away")
    func stopFile() async throws {
        let bench = try WordBench(Dictionary(uniqueKeysWithValues: (0..<200).map { ("w\($0)", "word") }))
        let stop = bench.folder("stop").path
        let outcome = try await bench.run(
            WordRecipe { stage, _ in if stage == .load { try FileSystem.write(stop, []) } },
            watch: FolderWatcher(quietSeconds: 0, stopFile: stop, takesStopFile: true)
        )
        #expect(outcome.counts.completed > 0 && outcome.counts.notReached > 0)
        #expect(outcome.mode == .draining && !FileSystem.exists(stop))
    }

    @Test("A source that changes while it is worked on is done anew", arguments: [Stage.load, .infer, .mesh])
    func changedSource(stage: Stage) async throws {
        let bench = try WordBench(["a": "old", "b": "other"])
        let change = times(1) { _ in try bench.write("a", "new words") }
        let outcome = try await bench.run(WordRecipe { at, name in if at == stage && name == "a" { try change() } })
        #expect(outcome.counts.completed == 2 && outcome.counts.inputs == 2)
        #expect(try bench.words("a") == "NEW WORDS")
        #expect(try bench.events("itemRetried").count == 1)
    }

    @Test("A source that changes all the time is left to the next run, and never given as done")
    func restlessSource() async throws {
        let bench = try WordBench(["a": "0"])
        let count = Mutex(0)
        let outcome = try await bench.run(
            WordRecipe { stage, _ in
                guard stage == .infer else { return }
                let next = count.withLock { count -> Int in
                    count += 1
                    return count
                }
                try bench.write(
                    "a",
                    "\(next) and longer each time".padding(toLength: 40 + next, withPad: ".", startingAt: 0)
                )
            }
        )
        #expect(outcome.counts.completed == 0 && outcome.counts.notReached == 1)
        #expect(try await bench.run(WordRecipe()).counts.completed == 1)
    }

    @Test("A watch takes what comes later, once it is quiet, and ends at the stop file")
    func watch() async throws {
        let bench = try WordBench(["a": "one"])
        let stop = bench.folder("stop").path
        let late = times(1) { _ in try bench.write("b", "two") }
        let outcome = try await bench.run(
            WordRecipe { stage, name in
                if stage == .write && name == "a" { try late() }
                if stage == .write && name == "b" { try FileSystem.write(stop, []) }
            },
            watch: FolderWatcher(quietSeconds: 1, stopFile: stop)
        )
        #expect(outcome.counts.completed == 2)
        #expect(try bench.words("b") == "TWO")
    }

    @Test("A watch takes files that come from the future, and tells what it says of the inputs once")
    func future() async throws {
        let bench = try WordBench(["a": "one"])
        let file = bench.folder("in").path + "/a.txt"
        let date = Date(timeIntervalSinceNow: 86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file)
        let stop = bench.folder("stop").path
        let rounds = Mutex(0)
        let outcome = try await bench.run(
            WordRecipe()
                .finding { discovery in
                    discovery.notes.append("a word on the inputs")
                    let bad = file + ".bad"
                    discovery.items.append(
                        DiscoveredItem(
                            key: bad,
                            name: "bad",
                            model: "words",
                            source: bad,
                            path: bad,
                            fingerprint: ContentDigest.of(bad),
                            problem: .refused("is damaged")
                        )
                    )
                    let round = rounds.withLock { rounds -> Int in
                        rounds += 1
                        return rounds
                    }
                    if round == 3 { try FileSystem.write(stop, []) }
                },
            watch: FolderWatcher(quietSeconds: 0, stopFile: stop)
        )
        #expect(outcome.counts.completed == 1 && outcome.counts.failed == 1)
        #expect(rounds.withLock { $0 } == 3)
        #expect(try bench.events("note").filter { $0.contains("a word on the inputs") }.count == 1)
        #expect(try bench.events("itemFailed").count == 1)
    }

    @Test("A watch outlives a look at the inputs that fails; a run does not")
    func failedRound() async throws {
        let bench = try WordBench(["a": "one"])
        let stop = bench.folder("stop").path
        let looks = Mutex(0)
        let recipe = WordRecipe { stage, name in
            if stage == .write && name == "b" { try FileSystem.write(stop, []) }
        }.finding { _ in
            let look = looks.withLock { looks -> Int in
                looks += 1
                return looks
            }
            if look == 2 { throw FileSystemError(operation: "read", path: "the table", code: ENOENT) }
            if look == 3 { try bench.write("b", "two") }
        }
        let outcome = try await bench.run(recipe, watch: FolderWatcher(quietSeconds: 0, stopFile: stop))
        #expect(outcome.counts.completed == 2)
        #expect(try bench.events("note").contains { $0.contains("the table") && $0.contains("came to nothing") })
        looks.withLock { $0 = 1 }
        await #expect(throws: FileSystemError.self) { try await bench.again().run(recipe) }
    }

    @Test("An engine that follows a dead one keeps to the memory that the first one had; another run does not")
    func limits() async throws {
        let bench = try WordBench(["a": "one"])
        func budget(_ item: String) throws -> Int? {
            let run = try JSONValue(parsing: FileSystem.read(bench.output.item(item) + "/run.json"))
            return if case .number(let bytes)? = run["budgetBytes"] { Int(bytes) } else { nil }
        }
        _ = try await bench.run(WordRecipe(), memoryBytes: 123 << 20, supervisor: "first")
        #expect(try budget("a") == 123 << 20)
        try bench.write("b", "two")
        _ = try await bench.again()
            .run(WordRecipe(), memoryBytes: nil, supervisor: "first", previousDeath: "signal 9")
        #expect(try budget("b") == 123 << 20)
        try bench.write("c", "three")
        _ = try await bench.again()
            .run(WordRecipe(), memoryBytes: 99 << 20, supervisor: "second", previousDeath: "signal 9")
        #expect(try budget("c") == 99 << 20)
    }

    @Test("Deaths outside items end the batch when they come in a row, not when there was work in between")
    func deathsOutsideItems() async throws {
        let bench = try WordBench(["a": "one"])
        func engine(after death: String?) async throws {
            _ = try await bench.again().run(WordRecipe(), supervisor: "s", previousDeath: death)
        }
        try await engine(after: nil)
        for name in ["b", "c", "d", "e"] {
            try bench.write(name, "word")
            try await engine(after: "signal 9")
        }
        try await engine(after: "signal 9")
        try await engine(after: "signal 9")
        await #expect(throws: BatchError.self) { try await engine(after: "signal 9") }
    }

    @Test("A file that was unfit is no longer failed once it is part of an item")
    func mendedFile() async throws {
        let bench = try WordBench(["a": "one"])
        let first = try await bench.run(
            WordRecipe()
                .finding { discovery in
                    for index in discovery.items.indices {
                        discovery.items[index].key = DiscoveredItem.fileKeyPrefix + discovery.items[index].path
                        discovery.items[index].name += ".txt"
                        discovery.items[index].problem = .refused("did not answer")
                    }
                }
        )
        #expect(first.counts.failed == 1)
        let second = try await bench.again().run(WordRecipe())
        #expect(second.counts.completed == 1 && second.counts.failed == 0 && second.counts.skipped == 1)
        #expect(try FileSystem.read(bench.output.retryList).isEmpty)
    }

    @Test("A name that comes back in another Unicode form is the same item")
    func unicodeForms() async throws {
        let bench = try WordBench(["M\u{FC}ller": "one"])
        #expect(try await bench.run(WordRecipe()).counts.completed == 1)
        let folder = bench.folder("in").path
        try FileSystem.move(folder + "/M\u{FC}ller.txt", to: folder + "/Mu\u{308}ller.txt")
        let outcome = try await bench.again().run(WordRecipe())
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

    @Test("An item that makes no progress is told, with its stage")
    func stall() async throws {
        let bench = try WordBench(["a": "one"])
        let told = Mutex<String?>(nil)
        let outcome = try await bench.run(
            WordRecipe { stage, _ in
                // As a read from a dead share would, until somebody has noticed.
                while stage == .load && told.withLock({ $0 == nil }) { sched_yield() }
            },
            stall: StallPolicy(seconds: 1) { words in told.withLock { $0 = $0 ?? words } }
        )
        #expect(outcome.counts.completed == 1)
        #expect(told.withLock { $0 } == "a has made no progress for 1 s (stage load)")
    }
}
