package import NocturneSystem
import Synchronization

/// Announces that something has changed, from any thread, to all tasks that wait for it.
///
/// Nothing is lost between looking and waiting: read ``generation`` first, then look, then wait for what comes after it.
///
/// ```swift
/// while !Task.isCancelled {
///     let generation = signal.generation
///     if let work = nextWork() { return work }
///     try await signal.wait(after: generation)
/// }
/// ```
package final class ChangeSignal: Sendable {
    private struct State {
        var generation: UInt64 = 0
        var nextID: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    }
    private let state = Mutex(State())

    /// A signal of generation 0, for which nobody waits.
    package init() {}

    /// How many changes there were.
    package var generation: UInt64 { state.withLock { $0.generation } }
    /// How many tasks wait now.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Wakes all who wait.
    package func notify() {
        let waiters = state.withLock { state in
            state.generation += 1
            defer { state.waiters = [:] }
            return state.waiters
        }
        // Outside the lock: a resumed task may wait for this signal again at once.
        for waiter in waiters.values { waiter.resume() }
    }

    /// Returns once there was a change after this one.
    /// - Throws: `CancellationError` when the task is cancelled before.
    package nonisolated(nonsending) func wait(after generation: UInt64) async throws {
        let id = state.withLock { state -> UInt64 in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    // The handler may have run before the waiter is in the table: then it found nothing to remove.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.generation != generation { return .success(()) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// As ``wait(after:)``, but no longer than `limit`.
    package func wait(after generation: UInt64, atMost limit: Duration?, _ time: any TimeSource) async throws {
        guard let limit else { return try await wait(after: generation) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.wait(after: generation) }
            group.addTask { try await time.sleep(for: limit) }
            // Whichever ends first. The other one is cancelled and has ended when the group is left.
            try await group.next()
            group.cancelAll()
        }
    }
}
