import Foundation
import NocturneConcurrency
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The lock of an output folder")
struct BatchLockTests {
    private let folder: TemporaryFolder
    private let output: OutputFolder

    init() throws {
        folder = try TemporaryFolder("lock")
        output = OutputFolder(folder("out").path)
        try output.create()
    }

    @Test("says who holds it, for which run, and what the run waits for")
    func holder() throws {
        #expect(BatchLock.state(of: output) == .free)
        let lock = try BatchLock(output, run: "run 1")
        let own = BatchLock.Holder(process: .current(), run: "run 1")
        #expect(BatchLock.state(of: output) == .held(own))
        lock.say(String(repeating: "room ", count: 50))
        lock.say("room")
        #expect(BatchLock.state(of: output).holder?.waitingFor == "room")
        lock.say(nil)
        #expect(BatchLock.state(of: output) == .held(own))
        #expect(throws: BatchError.self) { try BatchLock(output) }
    }

    @Test("that is taken is waited for, for a bounded time that the clock tells")
    func patience() async throws {
        let lock = try BatchLock(output)
        let time = ManualTime(advancesItself: true)
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        await #expect {
            try await BatchLock.acquire(output, waiting: BatchLock.Waiting(pool: pool, time: time))
        } throws: {
            ($0 as? BatchError)?.code == .outputInUse && "\($0)".contains("\(getpid())")
        }
        #expect(time.monotonic == .seconds(1))
        withExtendedLifetime(lock) {}
    }

    @Test("that is released meanwhile is taken")
    func released() async throws {
        var lock: BatchLock? = try BatchLock(output)
        let time = ManualTime()
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        async let next = BatchLock.acquire(output, waiting: BatchLock.Waiting(pool: pool, time: time))
        #expect(await until { time.sleeperCount == 1 })
        lock = nil
        time.advance(by: .milliseconds(50))
        let taken = try await next
        #expect(lock == nil && BatchLock.state(of: output).isHeld)
        withExtendedLifetime(taken) {}
    }

    @Test(
        "that the file system does not have is not another run",
        arguments: [ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL]
    )
    func unsupported(code: Int32) throws {
        #expect { try BatchLock.descriptor(output, nil, { _, _ in code }) } throws: {
            guard let error = $0 as? BatchError else { return false }
            return error.code == .outputUnwritable && error.systemCode == code && "\(error)".contains("file locks")
        }
        #expect(BatchLock.state(of: output, { _, _ in code }) == .unknown(code))
        #expect(try BatchLock.descriptor(output, nil, { _, _ in EWOULDBLOCK }) == nil)
    }

    @Test("in the batch of another user is refused with the name of that user")
    func anotherUser() throws {
        #expect("\(output.unwritable(EROFS))".contains("Make it writable, or choose another with --output"))
        #expect("\(output.unwritable(EACCES))".contains("Make it writable"))
        #expect("\(output.unwritable(ENOSPC))".contains("Free space on its disk, or choose another with"))
        // A command for a batch that is there may have no --output.
        try Data().write(to: URL(fileURLWithPath: output.journal))
        #expect("\(output.unwritable(EROFS))".hasSuffix("Make it writable, then repeat the command"))
        // Only root can give the folder away.
        guard geteuid() == 0 else { return }
        #expect(chown(output.hidden, 12_345, 12_345) == 0)
        let text = "\(output.unwritable(EACCES))"
        #expect(text.contains("belongs to user 12345, who alone can change it. Run the command as user 12345"))
        #expect(text.contains("`sudo -u '#12345' nocturne"))
    }

    @Test(
        "in the batch of another user is not taken by root, and nothing of root stays there",
        .enabled(if: geteuid() == 0, "only root can give files away")
    )
    func root() throws {
        func give(_ path: String) { #expect(chown(path, 12_345, 12_345) == 0) }
        for path in [output.hidden, output.staging] { give(path) }
        // Neither with a lock file of the owner nor without one.
        for hasLock in [false, true] {
            if hasLock {
                FileSystem.touch(output.lock, mode: 0o600)
                give(output.lock)
            }
            let before = FileSystem.entries(output.hidden)
            #expect { try BatchLock(output) } throws: { "\($0)".contains("belongs to user 12345") }
            #expect(FileSystem.entries(output.hidden) == before)
            #expect(BatchLock.state(of: output) == .free)
        }
        // Neither is a folder that a command needs.
        try FileSystem.makeFolder(output.shards)
        give(output.shards)
        #expect { try output.shard(1).create() } throws: { "\($0)".contains("belongs to user 12345") }
        #expect(FileSystem.entries(output.shards).isEmpty)
        // Of root's own batch only the output folder belongs to somebody else, as one that a container is given.
        for path in [output.hidden, output.staging, output.lock] { #expect(chown(path, 0, 0) == 0) }
        give(output.path)
        withExtendedLifetime(try BatchLock(output)) {}
    }

    @Test("that was handed over is used, unless it is another file")
    func handedOver() throws {
        let lock = try BatchLock(output, run: "run")
        let copy = dup(lock.handOn())
        let taken = try BatchLock(output, handedOn: copy, run: "run")
        #expect(fcntl(copy, F_GETFD) == FD_CLOEXEC)
        withExtendedLifetime(taken) {}
        let other = open("/dev/null", O_RDONLY)
        defer { close(other) }
        #expect(throws: BatchError.self) { try BatchLock(output, handedOn: other) }
        withExtendedLifetime(lock) {}
    }

    @Test("in whose place a pipe or a link lies is not followed")
    func hostile() throws {
        #expect(mkfifo(output.lock, 0o600) == 0)
        #expect(!BatchLock.state(of: output).isHeld)
        FileSystem.remove(output.lock)
        #expect(symlink("/dev/zero", output.lock) == 0)
        #expect(!BatchLock.state(of: output).isHeld)
        #expect(throws: BatchError.self) { try BatchLock(output) }
    }
}
