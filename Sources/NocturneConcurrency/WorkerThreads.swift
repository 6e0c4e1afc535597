internal import CPosix
internal import DequeModule
import NocturneSystem
import Synchronization

/// A fixed set of named threads that process jobs first-in first-out. Both pools are built on it.
final class WorkerThreads: Sendable {
    private struct Job {
        let run: @Sendable () -> Void
        /// The owner that can withdraw the job; nil for a job that must run.
        var owner: ObjectIdentifier?
    }

    private struct State {
        enum Phase { case open, closed, joined }

        /// `open`: accepts jobs. `closed`: the threads finish the queued jobs, then end. `joined`: no thread is left.
        var phase = Phase.open
        var jobs = Deque<Job>()
    }

    private let state = GuardedState(State())
    private let handles = Mutex<[UInt64]>([])
    let width: Int

    /// - Throws: ``ThreadStartError`` when the system refuses a thread; the threads started before it have then ended.
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
        let context = Unmanaged.passRetained(self).toOpaque()
        var handle: UInt64 = 0
        // 64 MiB stacks: decoders recurse; only touched pages cost memory.
        let code = cposix_thread_start(
            &handle,
            name,
            64 << 20,
            { context in
                Unmanaged<WorkerThreads>.fromOpaque(context!).takeRetainedValue().work()
                return nil
            },
            context
        )
        if code == 0 {
            handles.withLock { $0.append(handle) }
        } else {
            Unmanaged<WorkerThreads>.fromOpaque(context).release()
        }
        return code
    }

    /// Adds a job. Once the pool is shut down, the job runs at once on the caller's thread, so no caller waits forever.
    func submit(_ job: @escaping @Sendable () -> Void) {
        let isTaken = state.withLock { state in
            guard state.phase == .open else { return false }
            state.jobs.append(Job(run: job))
            return true
        }
        if isTaken { state.wakeOne() } else { job() }
    }

    /// Adds `count` equal optional jobs ahead of the waiting ones. A pool that is shutting down accepts no optional
    /// jobs, so jobs that are still finishing can safely run parallel loops.
    func offer(_ count: Int, owner: ObjectIdentifier, _ job: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.phase == .open else { return }
            for _ in 0..<count { state.jobs.prepend(Job(run: job, owner: owner)) }
        }
        for _ in 0..<count { state.wakeOne() }
    }

    /// Removes the offered jobs that no thread has started: while all threads are busy they would accumulate.
    func withdraw(owner: ObjectIdentifier) {
        state.withLock { $0.jobs.removeAll { $0.owner == owner } }
    }

    /// Runs `body` as a job and returns its result or throws its error.
    func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
            submit { continuation.resume(returning: Result { () throws(E) -> R in try body() }) }
        }
        return try result.get()
    }

    /// Finishes the waiting jobs, then joins the threads. Must not be called from one of them. A second call does
    /// nothing, and does not wait for the first.
    func shutdown() {
        let isFirst = state.withLock { state in
            guard state.phase == .open else { return false }
            state.phase = .closed
            return true
        }
        state.wakeAll()
        guard isFirst else { return }
        for handle in handles.withLock({ $0 }) { _ = cposix_thread_join(handle) }
        state.withLock { $0.phase = .joined }
    }

    private func work() {
        ThreadRole.markMayBlock()
        while let job = next() { job.run() }
    }

    /// Waits for a job. Nil once the pool is closed and no job is left.
    private func next() -> Job? {
        state.wait { state -> Job?? in
            if let job = state.jobs.popFirst() { return .some(job) }
            return state.phase == .open ? nil : .some(nil)
        }
    }
}
