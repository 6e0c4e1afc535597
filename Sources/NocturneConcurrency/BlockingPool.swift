/// A small pool of threads for blocking work: file reads, decoders, fsync.
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

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        threads.submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Finishes the queued jobs and joins the threads. Jobs submitted later run on the caller's thread.
    public func shutdown() { threads.shutdown() }
}
