/// A few threads for what waits on the system: file reads, decoders, fsync.
public final class BlockingPool: Sendable {
    private let threads: WorkerThreads

    public init(width: Int = 4) { threads = WorkerThreads(name: "blocking", width: width) }

    /// Runs `body` on one of the threads. Cancelling the task does not stop it.
    public func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        try await threads.run(body)
    }

    /// Lets the jobs that wait finish, and joins the threads.
    public func shutdown() { threads.shutdown() }
}
