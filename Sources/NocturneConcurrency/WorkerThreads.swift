internal import CPosix
internal import DequeModule
import NocturneSystem
import Synchronization

/// A fixed set of named threads that take jobs first-in first-out. Both pools stand on it.
final class WorkerThreads: Sendable {
    private struct Job {
        let run: @Sendable () -> Void
        /// Who can withdraw it; nil for a job that has to be done.
        var owner: ObjectIdentifier?
    }

    private struct State {
        enum Phase { case open, closed, joined }

        /// `open`: takes jobs. `closed`: the threads do what is queued, then end. `joined`: no thread is left.
        var phase = Phase.open
        var jobs = Deque<Job>()
    }

    private let state = GuardedState(State())
    private let handles = Mutex<[UInt64]>([])
    let width: Int

    /// - Throws: ``ThreadStartError`` when the system refuses a thread; those before it have ended by then.
    init(name: String, width: Int) throws(ThreadStartError) {
        precondition(width > 0, "a pool needs a thread")
        self.width = width
        for index in 0..<width {
            let code = start("\(name)-\(index)")
            guard code == 0 else {
                shutdown()
                throw ThreadStartError(wanted: width, started: index, systemCode: code)
            }
        }
    }

    /// - Returns: 0, or the system's number for the error.
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

    /// Adds a job. Once the pool is shut down it runs at once, on the caller's thread: nobody waits for ever.
    func submit(_ job: @escaping @Sendable () -> Void) {
        let isTaken = state.withLock { state in
            guard state.phase == .open else { return false }
            state.jobs.append(Job(run: job))
            return true
        }
        if isTaken { state.wakeOne() } else { job() }
    }

    /// Adds `count` equal jobs that need not be done, ahead of those that wait. A pool that is shutting down takes
    /// none, so jobs that are still draining may share loops.
    func offer(_ count: Int, owner: ObjectIdentifier, _ job: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.phase == .open else { return }
            for _ in 0..<count { state.jobs.prepend(Job(run: job, owner: owner)) }
        }
        for _ in 0..<count { state.wakeOne() }
    }

    /// Takes back the offered jobs that nobody has begun: while all threads are busy they would pile up.
    func withdraw(owner: ObjectIdentifier) {
        state.withLock { $0.jobs.removeAll { $0.owner == owner } }
    }

    /// Runs `body` as a job and gives back what it returned or threw.
    func run<R: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> R) async throws(E) -> R {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<R, E>, Never>) in
            submit { continuation.resume(returning: Result { () throws(E) -> R in try body() }) }
        }
        return try result.get()
    }

    /// Finishes the jobs that wait, then joins the threads. Not to be called from one of them. The second call does
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

    /// Waits for a job. Nil once the pool is closed and nothing is left to do.
    private func next() -> Job? {
        state.wait { state -> Job?? in
            if let job = state.jobs.popFirst() { return .some(job) }
            return state.phase == .open ? nil : .some(nil)
        }
    }
}
