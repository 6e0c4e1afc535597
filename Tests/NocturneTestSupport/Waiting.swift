/// Gives way to other tasks until `condition` holds; false when it does not within a million turns (seconds).
///
/// For tests that need another task to have come to a certain place. No clock is involved.
public func until(_ condition: () -> Bool) async -> Bool {
    for _ in 0..<1_000_000 {
        if condition() { return true }
        await Task.yield()
    }
    return condition()
}
