import Foundation
import Glibc
import NocturneConcurrency
import NocturneSystem
import Synchronization

/// The one right to work on an output folder: a lock of this machine, held by an open descriptor, and a ``FolderClaim`` that
/// other machines respect. The lock is released when the process ends, however that happens.
public final class BatchLock: Sendable {
    private let descriptor: Int32
    private let holder: Holder
    private let claim: FolderClaim
    /// Whether the claim is released, after which it gives no sign of life.
    private let isReleased = Mutex(false)
    private let lease: FolderClaim.Lease
    /// Whether the folder was taken from a run of another machine that had been silent for too long, and may come back.
    package let isTakenOver: Bool
    /// Counts the runs that have claimed the folder.
    package var generation: Int { claim.generation }

    private init(_ taken: Attempts.Taken, holder: Holder, time: any TimeSource) {
        descriptor = taken.descriptor
        self.holder = holder
        claim = taken.claim
        isTakenOver = taken.isTakenOver
        lease = FolderClaim.Lease(time: time)
        say(nil)
    }

    /// Takes the lock without waiting for it.
    /// - Parameters:
    ///   - handedOn: the descriptor of a lock that the parent of this process holds and has handed over.
    ///   - run: the name of the run, as ``BatchLock/Holder/run``.
    /// - Throws: ``BatchError`` with `outputInUse`, naming the holder; with `outputUnwritable` where the file system has no
    ///   locks.
    public convenience init(
        _ output: OutputFolder,
        handedOn: Int32? = nil,
        run: String? = nil
    ) throws(BatchError) {
        var attempts = try Attempts(output, handedOn: handedOn, run: run)
        switch try attempts.next(at: .zero) {
        case .taken(let taken): self.init(taken, holder: attempts.holder, time: SystemTime())
        case .locked: throw BatchError(inUse: output, by: BatchLock.state(of: output))
        case .claimed(let holder): throw BatchError(inUse: output, by: .held(holder))
        case .unclear(let holder): throw BatchLock.perhapsInUse(output, holder)
        }
    }

    /// Takes the lock, waiting for a holder that is about to end: a run that was just killed may need a moment. A claim of
    /// another machine is observed for as long as its run may be silent.
    ///
    /// Suspends between attempts. Parameters and errors as for ``init(_:handedOn:run:)``.
    package static func acquire(
        _ output: OutputFolder,
        handedOn: Int32? = nil,
        run: String? = nil,
        waiting: Waiting
    ) async throws -> BatchLock {
        let time = waiting.time
        let deadline = time.monotonic + waiting.patience
        var attempts = try await waiting.pool.run { () throws(BatchError) in
            try Attempts(output, handedOn: handedOn, run: run)
        }
        var hasSaid = false
        while true {
            let now = time.monotonic
            let (result, after) = try await waiting.pool.run { [attempts] () throws(BatchError) in
                var attempts = attempts
                return (try attempts.next(at: now), attempts)
            }
            attempts = after
            switch result {
            case .taken(let taken):
                return await waiting.pool.run { [holder = attempts.holder] in
                    BatchLock(taken, holder: holder, time: time)
                }
            case .locked:
                guard time.monotonic < deadline else {
                    throw await waiting.pool.run { BatchError(inUse: output, by: state(of: output)) }
                }
                // `flock` with waiting would block a thread of the pool, and could not be given up.
                try await time.sleep(for: .milliseconds(50))
            case .claimed(let holder): throw BatchError(inUse: output, by: .held(holder))
            case .unclear(let holder):
                guard waiting.goesOn() else { throw perhapsInUse(output, holder) }
                if !hasSaid {
                    hasSaid = true
                    let text = await waiting.pool.run { State.held(holder).holderText }
                    await waiting.note(
                        "\(output.path): \(text) has not released this batch; waiting up to "
                            + "\(ClaimStateMachine.patience.components.seconds) s to see whether it is still active."
                    )
                }
                try await time.sleep(for: .seconds(1))
            }
        }
    }

    deinit {
        release()
        close(descriptor)
    }

    /// Leaves the folder to other machines. The lock of this one is held until the last reference is gone.
    package func release() {
        isReleased.withLock { isReleased in
            if !isReleased { claim.release() }
            isReleased = true
        }
    }

    /// A sign of life for other machines.
    /// - Returns: false when another run has taken the folder.
    package func beat() -> Bool {
        isReleased.withLock { isReleased in isReleased || lease.renew(by: claim.beat) }
    }

    /// Whether the folder is still this run's: asked before anything is written that another run may write by now.
    ///
    /// At once while the last sign of life is recent; else one is given first, which may take as long as the share pleases.
    package var holdsFolder: Bool { holdsFolderForNow ?? beat() }

    /// The same where nothing may wait for a disk; nil when a sign of life would have to be given first.
    package var holdsFolderForNow: Bool? {
        switch lease.state {
        case .valid: true
        case .lost: false
        case .stale: nil
        }
    }

    /// Lets processes that are started from now on have the lock too; it is held until the last of them ends.
    /// - Returns: the descriptor by which they know it.
    public func handOn() -> Int32 {
        _ = fcntl(descriptor, F_SETFD, 0)
        return descriptor
    }

    /// Writes down what the run waits for; nil for nothing.
    public func say(_ waitingFor: String?) {
        // By then the file has the name of another run.
        guard holdsFolder else { return }
        var holder = holder
        holder.waitingFor = waitingFor
        guard let text = try? StableJSON.encodeLine(holder) else { return }
        // In place: overwriting needs no free space.
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        ftruncate(descriptor, off_t(text.count))
    }

    /// Where the folder's lock is, seen from the file that is held.
    package enum Place: Hashable {
        case same, another
        /// Unknown: the system call failed with this code.
        case unknown(Int32)
    }

    /// Where the folder's lock file is now: another file than before if the folder was deleted or moved, and made again.
    package func place(in output: OutputFolder) -> Place { BatchLock.place(of: descriptor, in: output) }

    private static func place(of descriptor: Int32, in output: OutputFolder) -> Place {
        var held = stat()
        var there = stat()
        guard fstat(descriptor, &held) == 0, stat(output.lock, &there) == 0 else {
            return [ENOENT, ENOTDIR].contains(errno) ? .another : .unknown(errno)
        }
        return held.st_dev == there.st_dev && held.st_ino == there.st_ino ? .same : .another
    }
}

// MARK: Taking it

extension BatchLock {
    /// Takes a lock of a file without waiting: 0, or the code of the system.
    package typealias Locker = (_ descriptor: Int32, _ operation: Int32) -> Int32

    static func lockFile(_ descriptor: Int32, _ operation: Int32) -> Int32 {
        flock(descriptor, operation | LOCK_NB) == 0 ? 0 : errno
    }

    /// The open descriptor of the lock, nil when another process holds it.
    package static func descriptor(
        _ output: OutputFolder,
        _ handedOn: Int32?,
        _ locker: Locker
    ) throws(BatchError) -> Int32? {
        try output.checkOwnFolders()
        if let handedOn, place(of: handedOn, in: output) == .same {
            _ = fcntl(handedOn, F_SETFD, FD_CLOEXEC)
            return handedOn
        }
        // O_NONBLOCK, since a pipe of this name would be waited for; O_NOFOLLOW, since a link would lead elsewhere.
        let descriptor = open(output.lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw output.unwritable(errno) }
        let code = locker(descriptor, LOCK_EX)
        if code == 0 { return descriptor }
        close(descriptor)
        if isHeldElsewhere(code) { return nil }
        throw BatchError(
            .outputUnwritable,
            path: output.path,
            detail: "cannot lock the folder: \(errnoText(code)). "
                + "Put the output on a file system that supports file locks, such as a local disk",
            systemCode: code
        )
    }

    private static func isHeldElsewhere(_ code: Int32) -> Bool { code == EWOULDBLOCK || code == EINTR }

    private static func perhapsInUse(_ output: OutputFolder, _ holder: Holder?) -> BatchError {
        let detail =
            "\(State.held(holder).holderText) has not released this batch, and may still be active. If it has ended, "
            + "run \"nocturne resume\", which waits until that is certain"
        return BatchError(.outputInUse, path: output.path, detail: detail)
    }
}

// MARK: Asking about it

extension BatchLock {
    /// Whether a run works on the batch now, and which.
    public static func state(of output: OutputFolder) -> State { state(of: output, lockFile) }

    /// As ``state(of:)``, with another way to lock, which tests replace.
    package static func state(of output: OutputFolder, _ locker: Locker) -> State {
        let descriptor = open(output.lock, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return [ENOENT, ENOTDIR].contains(errno) ? .free : .unknown(errno) }
        defer { close(descriptor) }
        let code = locker(descriptor, LOCK_SH)
        if code == 0 { return claimed(output) }
        guard isHeldElsewhere(code) else { return .unknown(code) }
        var bytes = [UInt8](repeating: 0, count: 1 << 14)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        // Whatever follows the line is of an earlier, longer text.
        let line = bytes.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }
        let holder = try? JSONDecoder().decode(Holder.self, from: Data(line))
        return .held(holder.flatMap { $0.process.process > 1 ? $0 : nil })
    }

    /// The state of the claim for a machine that could have the lock.
    private static func claimed(_ output: OutputFolder) -> State {
        let claim = FolderClaim.newest(in: output)
        var machine = ClaimStateMachine(output, process: .current(), run: nil)
        switch machine.observe(claim, at: .zero) {
        case .take, .proceed: return .free
        case .refuse(let holder): return .held(holder)
        case .lookAgain: return FolderClaim.isRecent(in: output) ? .held(claim?.record?.holder) : .free
        }
    }
}

extension BatchError {
    /// For a batch on which a run works.
    public init(inUse output: OutputFolder, by state: BatchLock.State) {
        let detail =
            "\(state.holderText) is working on this batch. Use `nocturne status \(output.argument)` to see its progress, with --follow "
            + "its messages, or `nocturne cancel \(output.argument)` to stop it"
        self.init(.outputInUse, path: output.path, detail: detail)
    }
}
