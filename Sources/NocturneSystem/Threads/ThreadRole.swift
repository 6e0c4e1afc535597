internal import CPosix

/// What the calling thread is for: whether it may wait for the disk, a lock or another thread.
///
/// Threads of the pools and of executors with dedicated threads may. The few threads that all tasks share may not:
/// while one waits, no actor makes progress on it. Tests hold every call that can wait against this.
public enum ThreadRole {
    /// Declares that the calling thread may block, until it ends.
    public static func markMayBlock() { cposix_thread_set_may_block(1) }

    /// Runs `body` as a thread that may block: for queues whose threads come and go.
    public static func allowingBlocking<R>(_ body: () throws -> R) rethrows -> R {
        let before = cposix_thread_may_block()
        cposix_thread_set_may_block(1)
        defer { cposix_thread_set_may_block(before) }
        return try body()
    }
}
