#if canImport(Glibc)
    import Glibc
#endif

/// One thread waits here until another thread opens the gate. May be used again after each wait.
///
/// For pool threads only. A task must not wait here.
final class Gate: @unchecked Sendable {
    // Unchecked: a POSIX semaphore is designed to be shared between threads.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0 {}
    }
}
