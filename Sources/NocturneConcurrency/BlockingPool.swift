internal import DequeModule
import Synchronization

/// A small pool of threads for blocking work: file reads, decoders, fsync.
///
/// Its threads are separate from those of ``ComputePool``: a read from a share that does not respond occupies one of them
/// and no core.
///
/// ```swift
/// let pool = try BlockingPool()
/// defer { pool.shutdown() }
/// let bytes = try await pool.run { try FileSystem.read(path) }
/// ```
public final class BlockingPool: TaskExecutor {
    private let threads: WorkerThreads

    /// - Throws: ``ThreadStartError`` when the system refuses a thread.
    public init(width: Int = 4) throws(ThreadStartError) {
        threads = try WorkerThreads(name: "blocking", width: width)
    }

    /// Runs `body` on one of the threads. Cancelling the task does not stop it.
    public func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        try await threads.run(body)
    }

    /// An executor for one actor, which runs the actor's jobs one at a time on these threads.
    public func serialExecutor() -> PoolSerialExecutor { PoolSerialExecutor(threads) }

    /// Takes a job of a task with this executor preference; the cooperative pool stays free while it blocks.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Finishes the queued jobs and joins the threads. Jobs submitted later run on the caller's thread.
    public func shutdown() { threads.shutdown() }
}

/// Runs the jobs of one actor, or of several actors in turn, one at a time and in order, on any idle thread of a pool.
///
/// An actor with such an executor may compute in its own methods: its state needs no lock, and the cooperative threads
/// stay free for other actors. After every job the executor goes to the end of the queue of the pool, if anything waits
/// there, so an actor that is always busy does not occupy a thread permanently. Once the pool is shut down, jobs run on
/// the threads that enqueue them, still one at a time.
public final class PoolSerialExecutor: SerialExecutor {
    private struct State {
        var jobs = Deque<UnownedJob>()
        /// Whether a thread runs a job of this executor or one has been requested.
        var isScheduled = false
    }

    private let threads: WorkerThreads
    private let state = Mutex(State())

    init(_ threads: WorkerThreads) { self.threads = threads }

    /// Appends a job of the actor, and requests a thread unless one is running or requested already.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasIdle = state.withLock { state in
            state.jobs.append(job)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if wasIdle { threads.submit { [self] in runJobs() } }
    }

    /// Runs the waiting jobs. Leaves the rest to the end of the pool's queue as soon as something waits there.
    private func runJobs() {
        repeat {
            guard let job = state.withLock({ $0.jobs.popFirst() }) else { return }
            job.runSynchronously(on: asUnownedSerialExecutor())
            let hasMore = state.withLock { state in
                state.isScheduled = !state.jobs.isEmpty
                return state.isScheduled
            }
            guard hasMore else { return }
        } while !threads.queue { [self] in runJobs() }
    }
}
