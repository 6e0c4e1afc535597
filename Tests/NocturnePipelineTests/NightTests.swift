import Foundation
import NocturneCore
import NocturnePipeline
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
        let full = times(3) { _ in throw FileFault(operation: "write", path: "x", code: ENOSPC) }
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
                if stage == .write { throw FileFault(operation: "write", path: "x", code: ENOSPC) }
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
                throw FileFault(operation: "read", path: "the/file", code: code)
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
            throw FileFault(operation: "read", path: path, code: ENOENT)
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
        #expect(BatchLock.waiting(in: output) == nil && lock.isInPlace(output))
        FileSystem.remove(output.lock)
        try FileSystem.write(output.lock, [])
        #expect(!lock.isInPlace(output))
    }

    @Test("A stop file is seen between two items, and taken away")
    func stopFile() async throws {
        let bench = try WordBench(Dictionary(uniqueKeysWithValues: (0..<200).map { ("w\($0)", "word") }))
        let stop = bench.folder("stop").path
        let outcome = try await bench.run(
            WordRecipe { stage, _ in if stage == .load { try FileSystem.write(stop, []) } },
            watch: InputWatch(quietSeconds: 0, stopFile: stop, takesStopFile: true)
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
            watch: InputWatch(quietSeconds: 1, stopFile: stop)
        )
        #expect(outcome.counts.completed == 2)
        #expect(try bench.words("b") == "TWO")
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
