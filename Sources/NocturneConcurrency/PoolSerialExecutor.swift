internal import DequeModule
import Synchronization

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

    private let threads: BlockingPool
    private let state = Mutex(State())

    init(_ threads: BlockingPool) { self.threads = threads }

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
