import Dispatch
import Synchronization

/// Compute threads, one per core, so that long kernels do not block the cooperative pool's threads that run the actors.
///
/// `await pool.run { … }` runs a synchronous function on one of them. Inside, ``ComputeScope/forEach(_:_:)`` shares a
/// loop with all threads that are idle.
///
/// ```swift
/// let pool = try ComputePool(width: 8)
/// defer { pool.shutdown() }
/// let scope = ComputeScope(pool: pool, flag: flag)
/// let sums = try await pool.run { () throws(CancelledError) -> [Float] in
///     // In the order of the slices, whichever thread computes which.
///     try scope.map(slices.count) { slices[$0].reduce(0, +) }
/// }
/// ```
public final class ComputePool: Sendable {
    private let threads: BlockingPool
    /// The number of threads.
    public var width: Int { threads.width }

    /// The address space in bytes that a process needs for a pool of this width: its stacks, those of blocking pools and of
    /// libdispatch, and the libraries' heaps. Below it libdispatch waits for ever for threads that cannot start.
    public static func addressSpace(width: Int) -> Int {
        // Eight more stacks for the other threads; 8 MiB for each of this pool's and 256 MiB for heaps and libraries.
        (width + 8) * BlockingPool.stackBytes + (width << 23) + (256 << 20)
    }

    /// - Throws: ``ThreadStartError`` when the system refuses a thread.
    public init(width: Int) throws(ThreadStartError) { threads = try BlockingPool(name: "compute", width: width) }

    /// Runs `body` on one of the threads. Cancelling the task does not stop it: pass a ``CancellationFlag``.
    public func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        try await threads.run(body)
    }

    /// An executor for one actor, which runs the actor's jobs one at a time on these threads.
    public func serialExecutor() -> PoolSerialExecutor { threads.serialExecutor() }

    /// Finishes the queued jobs and joins the threads. Jobs submitted later run on the caller's thread.
    public func shutdown() { threads.shutdown() }

    /// Calls `body` once for every index below `count`, on this thread and on idle ones; returns when all calls are
    /// done.
    ///
    /// The order is not fixed, so `body` must write only to elements that no other call writes, and reductions must be
    /// merged in index order afterwards. The result is then the same for any number of threads.
    func forEach(_ count: Int, _ body: @Sendable (Int) -> Void) {
        // A loop of one index, or on one thread, needs no lock and no other thread.
        if count <= 1 || width == 1 {
            for index in 0..<max(count, 0) { body(index) }
            return
        }
        withoutActuallyEscaping(body) { body in
            let loop = SharedLoop(count: count, body: body)
            // No more than one thread for each index: the caller itself takes part.
            let offered = min(width, count) - 1
            threads.offer(offered, owner: ObjectIdentifier(loop)) { loop.help() }
            loop.help()
            // This thread counts as one of the participants.
            if loop.close() - 1 < offered { threads.withdraw(owner: ObjectIdentifier(loop)) }
        }
    }
}

extension ComputePool {
    /// A loop whose indices are taken one by one by any participating thread.
    fileprivate final class SharedLoop: @unchecked Sendable {
        private struct Helpers {
            var inside = 0
            var arrived = 0
            var closed = false
        }

        // Unchecked: `body` is set once, read only by helpers inside the loop, and cleared after the last one has left.
        private var body: (@Sendable (Int) -> Void)?
        private let count: Int
        private let next = Atomic<Int>(0)
        private let helpers = Mutex(Helpers())
        private let gate = DispatchSemaphore(value: 0)

        init(count: Int, body: @escaping @Sendable (Int) -> Void) {
            self.count = count
            self.body = body
        }

        /// Processes indices until none is left. Does nothing if the loop is already closed.
        func help() {
            let enters = helpers.withLock { helpers in
                if helpers.closed { return false }
                helpers.inside += 1
                helpers.arrived += 1
                return true
            }
            guard enters else { return }
            runIndices()
            let last = helpers.withLock { helpers in
                helpers.inside -= 1
                return helpers.inside == 0 && helpers.closed
            }
            if last { gate.signal() }
        }

        // A separate function, so that its reference to `body` is released when it returns. The closing thread may continue
        // only when no thread holds a reference; otherwise the runtime stops the process because the closure escaped.
        @inline(never)
        private func runIndices() {
            guard let body else { return }
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < count else { break }
                body(index)
            }
        }

        /// Waits for the helpers that are still inside; returns how many took part in total. Must be called only once.
        func close() -> Int {
            let (wait, arrived) = helpers.withLock { helpers in
                helpers.closed = true
                return (helpers.inside > 0, helpers.arrived)
            }
            if wait { gate.wait() }
            body = nil
            return arrived
        }
    }
}
