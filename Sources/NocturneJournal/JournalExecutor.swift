internal import Dispatch
import NocturneSystem

/// Runs everything that the ``Journal`` does on a serial queue of its own: a call waits for the disk, and must not hold
/// one of the few threads that all tasks share.
final class JournalExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "nocturne.journal", qos: .userInitiated)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in
            ThreadRole.allowingBlocking { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    /// Runs `body` on the queue, before there is an actor.
    func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try ThreadRole.allowingBlocking { try body() } }) }
        }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
