#if canImport(Glibc)
    import Glibc
#endif

/// Blocks the calling thread until `condition` holds, which another thread or another process brings about.
///
/// The condition is asked for every few milliseconds. Asking without a rest would take the processor from those that are waited for.
/// - Parameter milliseconds: the rest; longer where the question starts a process.
public func blockThread(every milliseconds: Int32 = 2, until condition: () throws -> Bool) rethrows {
    while try !condition() { poll(nil, 0, milliseconds) }
}

/// Gives way to other tasks until `condition` holds; false when it does not within a minute.
///
/// For tests that need another task to have come to a certain place. A number of turns is no measure: without other tasks a million
/// take less time than a run needs to begin, if that waits for the disk.
public func until(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    repeat {
        for _ in 0..<1000 {
            if condition() { return true }
            await Task.yield()
        }
    } while ContinuousClock.now < end
    return condition()
}
