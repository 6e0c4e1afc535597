internal import DequeModule
import Synchronization

/// Runs the jobs of one actor, or of several that take turns, one at a time and in order, on whichever thread of a pool
/// is idle.
///
/// An actor that has such an executor may calculate in its own methods: what it owns needs no lock, and the cooperative
/// threads stay free for the others. After every job it goes to the end of the pool's queue, so an actor that is always
/// busy does not keep a thread from the rest. Once the pool is shut down, jobs run on the threads that enqueue them, one
/// at a time as before.
public final class PoolSerialExecutor: SerialExecutor {
    private struct State {
        var jobs = Deque<UnownedJob>()
        /// Whether a thread runs a job of this executor, or has been asked to.
        var isScheduled = false
    }

    private let threads: WorkerThreads
    private let state = Mutex(State())

    init(_ threads: WorkerThreads) { self.threads = threads }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wasIdle = state.withLock { state in
            state.jobs.append(job)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if wasIdle { schedule() }
    }

    private func schedule() { threads.submit { [self] in runNext() } }

    private func runNext() {
        guard let job = state.withLock({ $0.jobs.popFirst() }) else { return }
        job.runSynchronously(on: asUnownedSerialExecutor())
        let hasMore = state.withLock { state in
            state.isScheduled = !state.jobs.isEmpty
            return state.isScheduled
        }
        if hasMore { schedule() }
    }
}
