internal import CPosix
internal import DequeModule
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// A fixed set of named threads that take jobs first-in first-out. Both pools stand on it.
final class WorkerThreads: @unchecked Sendable {
    // Unchecked: everything mutable is behind `mutex`.
    private struct Job {
        let run: @Sendable () -> Void
        /// Who can withdraw it; nil for a job that has to be done.
        var owner: ObjectIdentifier?
    }

    private struct State {
        var jobs = Deque<Job>()
        var closed = false
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state = State()
    private var handles: [UInt64] = []
    let width: Int

    init(name: String, width: Int) {
        precondition(width > 0, "a pool needs a thread")
        self.width = width
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
        for index in 0..<width {
            let context = Unmanaged.passRetained(self).toOpaque()
            var handle: UInt64 = 0
            // 64 MiB stacks: decoders recurse; only touched pages cost memory.
            let code = cposix_thread_start(
                &handle,
                "\(name)-\(index)",
                64 << 20,
                { context in
                    Unmanaged<WorkerThreads>.fromOpaque(context!).takeRetainedValue().work()
                    return nil
                },
                context
            )
            precondition(code == 0, "the system would not start a thread: \(code)")
            handles.append(handle)
        }
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Adds a job.
    func submit(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        precondition(!state.closed, "a job was given to a pool that was shut down")
        state.jobs.append(Job(run: job))
        pthread_mutex_unlock(mutex)
        pthread_cond_signal(condition)
    }

    /// Adds `count` equal jobs that need not be done, ahead of those that wait. A pool that is shutting down takes
    /// none, so jobs that are still draining may share loops.
    func offer(_ count: Int, owner: ObjectIdentifier, _ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        if !state.closed { for _ in 0..<count { state.jobs.prepend(Job(run: job, owner: owner)) } }
        pthread_mutex_unlock(mutex)
        for _ in 0..<count { pthread_cond_signal(condition) }
    }

    /// Takes back the offered jobs that nobody has begun: while all threads are busy they would pile up.
    func withdraw(owner: ObjectIdentifier) {
        pthread_mutex_lock(mutex)
        state.jobs.removeAll { $0.owner == owner }
        pthread_mutex_unlock(mutex)
    }

    /// Runs `body` as a job and gives back what it returned or threw.
    func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
            submit { continuation.resume(returning: Result { () throws(E) -> R in try body() }) }
        }
        return try result.get()
    }

    /// Finishes the jobs that wait, then joins the threads. Not to be called from one of them.
    func shutdown() {
        pthread_mutex_lock(mutex)
        let wasClosed = state.closed
        state.closed = true
        pthread_mutex_unlock(mutex)
        pthread_cond_broadcast(condition)
        if wasClosed { return }
        for handle in handles { _ = cposix_thread_join(handle) }
    }

    private func work() {
        while true {
            pthread_mutex_lock(mutex)
            while state.jobs.isEmpty && !state.closed { pthread_cond_wait(condition, mutex) }
            guard let job = state.jobs.popFirst() else {
                pthread_mutex_unlock(mutex)
                return
            }
            pthread_mutex_unlock(mutex)
            job.run()
        }
    }
}
