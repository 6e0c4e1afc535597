#if canImport(Glibc)
    import Glibc
#endif

/// State shared between threads: a lock that protects it, and a condition on which threads wait for it to change.
///
/// For pool threads only. A task must not wait here.
final class GuardedState<State>: @unchecked Sendable {
    // Unchecked: `state` is accessed only while `mutex` is held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    init(_ state: sending State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<R>(_ body: (inout State) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }

    /// Waits until `body` returns a value. It is called at once, and again after every ``wakeOne()`` and ``wakeAll()``.
    func wait<R>(until body: (inout State) -> R?) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = body(&state) { return value }
            pthread_cond_wait(condition, mutex)
        }
    }

    func wakeOne() { pthread_cond_signal(condition) }

    func wakeAll() { pthread_cond_broadcast(condition) }
}
