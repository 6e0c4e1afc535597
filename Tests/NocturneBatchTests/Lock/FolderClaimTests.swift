import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// Another machine is a claim file that another machine would have written: locks of this machine do not exclude it.
@Suite("The claim of an output folder")
struct FolderClaimTests {
    private let folder: TemporaryFolder
    private let output: OutputFolder

    init() throws {
        folder = try TemporaryFolder("claim")
        output = OutputFolder(folder("out").path)
        try output.create()
    }

    private static let stranger = BatchLock.Holder(
        process: ProcessIdentity(process: 4711, startTicks: 1, bootID: "b", pidNamespace: "p", host: "night7"),
        run: "theirs"
    )

    private func claims() -> [String] { FileSystem.entries(output.hidden).filter { $0.hasPrefix("claim.") } }

    @Test("has one holder of each generation, and keeps the last ones")
    func generations() throws {
        for generation in 0..<6 {
            let first = try FolderClaim.take(output, after: generation, for: Self.stranger)
            #expect(first != nil)
            #expect(try FolderClaim.take(output, after: generation, for: Self.stranger) == nil)
        }
        #expect(claims() == ["claim.4", "claim.5", "claim.6"])
        #expect(FolderClaim.newest(in: output)?.record?.holder == Self.stranger)
    }

    @Test("changes with every sign of life, until another run has the next generation")
    func beats() throws {
        let claim = try #require(try FolderClaim.take(output, after: 0, for: Self.stranger))
        let before = FolderClaim.newest(in: output)?.text
        #expect(claim.beat() && FolderClaim.newest(in: output)?.text != before)
        let next = try FolderClaim.take(output, after: 1, for: Self.stranger)
        #expect(next != nil && !claim.beat() && !claim.isNewest)
    }

    @Test("is still held when the whole folder was moved away, and is not when only its file was removed")
    func movedAway() throws {
        let claim = try #require(try FolderClaim.take(output, after: 0, for: Self.stranger))
        let away = output.path + "-away"
        try FileSystem.move(output.path, to: away)
        #expect(claim.beat())
        try FileSystem.move(away, to: output.path)
        #expect(claim.beat())
        FileSystem.remove(output.hidden + "/claim.1")
        #expect(!claim.beat())
    }

    @Test("of another machine counts until it is released, that of this machine never")
    func otherMachine() throws {
        #expect(!FolderClaim.isHeldByAnotherMachine(output))
        let claim = try #require(try FolderClaim.take(output, after: 0, for: Self.stranger))
        #expect(FolderClaim.isHeldByAnotherMachine(output))
        claim.release()
        #expect(!FolderClaim.isHeldByAnotherMachine(output))
        let own = try BatchLock(output)
        withExtendedLifetime(own) { #expect(!FolderClaim.isHeldByAnotherMachine(output)) }
    }

    @Test("is released with the lock, and taken by the next run")
    func released() throws {
        var lock: BatchLock? = try BatchLock(output)
        #expect(FolderClaim.newest(in: output)?.record?.isReleased == false)
        withExtendedLifetime(lock) {}
        lock = nil
        #expect(FolderClaim.newest(in: output)?.record?.isReleased == true && !BatchLock.state(of: output).isHeld)
        let next = try BatchLock(output)
        #expect(next.generation == 2 && FolderClaim.newest(in: output)?.generation == 2)
        #expect(lock == nil)
    }

    @Test("of a run on another machine refuses what cannot wait, and is shown by name")
    func elsewhere() throws {
        _ = try BatchLock(output)
        let claim = try FolderClaim.take(output, after: 1, for: Self.stranger)
        #expect(BatchLock.state(of: output).holder == Self.stranger)
        #expect { try BatchLock(output) } throws: {
            ($0 as? BatchError)?.code == .outputInUse && "\($0)".contains("process 4711 on night7")
        }
        claim?.release()
        #expect(!BatchLock.state(of: output).isHeld)
    }

    @Test("of a silent machine is taken over after the patience")
    func silent() async throws {
        let claim = try FolderClaim.take(output, after: 0, for: Self.stranger)
        let time = ManualTime(advancesItself: true)
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        let notes = Recorder()
        let waiting = BatchLock.Waiting(pool: pool, time: time, note: { await notes.add($0) })
        let lock = try await BatchLock.acquire(output, run: "ours", waiting: waiting)
        #expect(time.monotonic >= ClaimStateMachine.patience)
        #expect(FolderClaim.newest(in: output)?.generation == lock.generation)
        #expect(await notes.texts.count == 1)
        #expect(claim?.beat() == false)
    }

    @Test("of a machine that gives signs of life is respected")
    func alive() async throws {
        let claim = try #require(try FolderClaim.take(output, after: 0, for: Self.stranger))
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        let time = ManualTime(advancesItself: true)
        let waiting = BatchLock.Waiting(pool: pool, time: time, note: { _ in _ = claim.beat() })
        await #expect { try await BatchLock.acquire(output, run: "ours", waiting: waiting) } throws: {
            ($0 as? BatchError)?.code == .outputInUse && "\($0)".contains("night7")
        }
        #expect(time.monotonic < ClaimStateMachine.patience)
    }

    private actor Recorder {
        var texts: [String] = []
        func add(_ text: String) { texts.append(text) }
    }
}

@Suite("A run whose folder another machine has taken")
struct LostClaimTests {
    @Test("ends, and leaves the report to the other")
    func ends() async throws {
        let batch = try TextBatch(["a": "one", "b": "two"])
        let output = batch.output
        let recipe = TextRecipe { stage, _ in
            guard stage == .load, let newest = FolderClaim.newest(in: output)?.generation else { return }
            _ = try FolderClaim.take(output, after: newest, for: BatchLock.Holder(process: .current(), run: "theirs"))
        }
        let outcome = try await batch.run(recipe)
        #expect(outcome.givenUp?.contains("another machine") == true)
        // The first report says that nothing is done yet, and there is no other.
        #expect(try String(decoding: FileSystem.read(output.report), as: UTF8.self).contains("\"notReached\" : 2"))
    }
}
