import NocturneConcurrency
public import NocturneOutput
public import NocturneSystem
import Synchronization

/// Looks for requests to a run in its output folder: on a signal, and at intervals for requests from machines and containers
/// that cannot signal.
public final class ControlRequestListener: Sendable {
    /// The time between two looks.
    public static let interval = Duration.seconds(2)

    private let output: OutputFolder
    private let run: String
    private let perform: @Sendable (ControlRequest.Action) -> Void
    /// Files whose requests were carried out, in case they cannot be removed.
    private let handled = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - run: the name of the run, to which requests are addressed.
    ///   - perform: carries a request out; must not block.
    public init(
        _ output: OutputFolder,
        run: String,
        perform: @escaping @Sendable (ControlRequest.Action) -> Void
    ) {
        self.output = output
        self.run = run
        self.perform = perform
    }

    /// Carries out what has been requested so far. Reads the folder on the calling thread.
    public func look() {
        // Before this run has the folder, the requests in it are for another one.
        guard !FileSystem.entries(output.requests).isEmpty, BatchLock.state(of: output).holder?.run == run else {
            return
        }
        let requests = handled.withLock { handled in
            ControlRequest.take(from: output, run: run).filter { handled.insert($0.file).inserted }
        }
        for request in requests { perform(request.action) }
    }

    /// Looks at intervals while `body` runs.
    public func listen<Result: Sendable>(
        time: any TimeSource,
        while body: () async throws -> Result
    ) async throws -> Result {
        // Reading the folder may block, on a share that does not respond.
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        return try await listen(on: pool, time, while: body)
    }

    private func listen<Result: Sendable>(
        on pool: BlockingPool,
        _ time: any TimeSource,
        while body: () async throws -> Result
    ) async throws -> Result {
        async let _: Void = look(on: pool, time)
        // Leaving cancels the looks, and waits for the last one.
        return try await body()
    }

    private func look(on pool: BlockingPool, _ time: any TimeSource) async {
        while !Task.isCancelled {
            await pool.run { self.look() }
            do { try await time.sleep(for: ControlRequestListener.interval) } catch { return }
        }
    }
}
