internal import CPosix
internal import DequeModule
import Dispatch
import Glibc
public import NocturneSystem
import Synchronization

/// A small pool of threads for blocking work: file reads, decoders, fsync. Its jobs are processed first-in first-out.
///
/// Its threads are separate from those of ``ComputePool``, which has another such pool: a read from a share that does not
/// respond occupies one of them and no core.
///
/// ```swift
/// let pool = try BlockingPool()
/// defer { pool.shutdown() }
/// let bytes = try await pool.run { try FileSystem.read(path) }
/// ```
///
/// A job goes directly to a thread that waits, the last one to have begun waiting, and is queued only while all are busy.
/// Each thread waits at its own gate. A condition that all threads share was tried before: every thread that it woke competed
/// for the lock with the thread that woke it.
public final class BlockingPool: TaskExecutor {
    /// Decoders recurse; only touched pages cost memory.
    static let stackBytes = 64 << 20

    private struct Job {
        let run: @Sendable () -> Void
        /// The owner that can withdraw the job; nil for a job that must run.
        var owner: ObjectIdentifier?
    }

    /// A thread that waits for a job.
    private final class IdleThread: @unchecked Sendable {
        // Unchecked: set before the gate opens, read after it.
        var job: Job?
        let gate = DispatchSemaphore(value: 0)
    }

    private struct State {
        enum Phase { case open, closed, joined }

        /// `open`: accepts jobs. `closed`: the threads finish the queued jobs, then end. `joined`: no thread is left.
        var phase = Phase.open
        /// Empty while a thread is idle.
        var jobs = Deque<Job>()
        var idle: [IdleThread] = []

        mutating func assign(_ job: Job) -> IdleThread? {
            let thread = idle.popLast()
            thread?.job = job
            return thread
        }
    }

    private let state = Mutex(State())
    private let handles = Mutex<[UInt64]>([])
    let width: Int

    /// - Throws: ``ThreadStartError`` when the system refuses a thread; the threads started before it have then ended.
    public convenience init(width: Int = 4) throws(ThreadStartError) { try self.init(name: "blocking", width: width) }

    init(name: String, width: Int) throws(ThreadStartError) {
        precondition(width > 0, "a pool needs at least one thread")
        self.width = width
        for index in 0..<width {
            let code = start("\(name)-\(index)")
            guard code == 0 else {
                shutdown()
                throw ThreadStartError(wanted: width, started: index, systemCode: code)
            }
        }
    }

    /// - Returns: 0, or the system's error number.
    private func start(_ name: String) -> Int32 {
        // The thread holds the pool until it ends, so that a pool that nobody shuts down is never freed under it.
        let context = Unmanaged.passRetained(self).toOpaque()
        var handle: UInt64 = 0
        let code = cposix_thread_start(
            &handle,
            name,
            Self.stackBytes,
            { context in
                Unmanaged<BlockingPool>.fromOpaque(context!).takeRetainedValue().work()
                return nil
            },
            context
        )
        if code == 0 {
            handles.withLock { $0.append(handle) }
        } else {
            Unmanaged<BlockingPool>.fromOpaque(context).release()
        }
        return code
    }

    /// Adds a job. Once the pool is shut down, the job runs at once on the caller's thread, so no caller waits forever.
    func submit(_ run: @escaping @Sendable () -> Void) {
        let (isTaken, thread) = state.withLock { state -> (Bool, IdleThread?) in
            guard state.phase == .open else { return (false, nil) }
            let job = Job(run: run)
            if let thread = state.assign(job) { return (true, thread) }
            state.jobs.append(job)
            return (true, nil)
        }
        if isTaken { thread?.gate.signal() } else { run() }
    }

    /// Adds a job behind those that wait. Only for a thread of this pool that is about to take the next job.
    /// - Returns: false, and adds nothing, when no job waits, so that the caller may run it at once.
    func queue(_ run: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.phase == .open, !state.jobs.isEmpty else { return false }
            state.jobs.append(Job(run: run))
            return true
        }
    }

    /// Adds `count` equal optional jobs ahead of the waiting ones. A pool that is shutting down accepts no optional
    /// jobs, so jobs that are still finishing can safely run parallel loops.
    func offer(_ count: Int, owner: ObjectIdentifier, _ run: @escaping @Sendable () -> Void) {
        let threads = state.withLock { state -> [IdleThread] in
            guard state.phase == .open else { return [] }
            let job = Job(run: run, owner: owner)
            let threads = (0..<min(count, state.idle.count)).compactMap { _ in state.assign(job) }
            for _ in threads.count..<count { state.jobs.prepend(job) }
            return threads
        }
        for thread in threads { thread.gate.signal() }
    }

    /// Removes the offered jobs that no thread has started: while all threads are busy they would accumulate.
    func withdraw(owner: ObjectIdentifier) {
        state.withLock { $0.jobs.removeAll { $0.owner == owner } }
    }

    /// Runs `body` on one of the threads, and returns its result or throws its error. Cancelling the task does not stop it.
    public func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
            submit { continuation.resume(returning: Result { () throws(E) -> R in try body() }) }
        }
        return try result.get()
    }

    /// An executor for one actor, which runs the actor's jobs one at a time on these threads.
    public func serialExecutor() -> PoolSerialExecutor { PoolSerialExecutor(self) }

    /// Takes a job of a task with this executor preference; the cooperative pool stays free while it blocks.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Finishes the waiting jobs, then joins the threads. Must not be called from one of them. A second call does
    /// nothing, and does not wait for the first. Jobs submitted later run on the caller's thread.
    public func shutdown() {
        let idle = state.withLock { state -> [IdleThread]? in
            guard state.phase == .open else { return nil }
            state.phase = .closed
            defer { state.idle = [] }
            return state.idle
        }
        guard let idle else { return }
        for thread in idle { thread.gate.signal() }
        for handle in handles.withLock({ $0 }) { _ = cposix_thread_join(handle) }
        state.withLock { $0.phase = .joined }
    }

    private func work() {
        ThreadRole.markMayBlock()
        let thread = IdleThread()
        while let job = next(for: thread) { job.run() }
    }

    /// Waits for a job. Nil once the pool is closed and no job is left.
    private func next(for thread: IdleThread) -> Job? {
        let isIdle = state.withLock { state in
            thread.job = state.jobs.popFirst()
            guard thread.job == nil, state.phase == .open else { return false }
            state.idle.append(thread)
            return true
        }
        if isIdle { thread.gate.wait() }
        return thread.job.take()
    }
}

/// The system could not start a thread: too many processes, or too little memory for the stacks.
public struct ThreadStartError: SystemCallError, Hashable, CustomStringConvertible {
    /// The number of threads that were requested.
    public let wanted: Int
    /// The number that could be started; they have ended again.
    public let started: Int
    /// The system's error number, usually EAGAIN.
    public let systemCode: Int32?

    /// With the next step, since the limit is one of the system and not of the program.
    public var description: String {
        let reason = systemCode.map { ": \(errnoText($0))" } ?? ""
        return "only \(started) of \(wanted) threads could be started\(reason); use fewer threads or raise the limit"
    }
}
