internal import CBlockingCalls
import Synchronization

/// Sees every call that may wait for a disk and is made on one of the threads that all tasks share: where an actor or a task
/// without an executor of its own makes it.
///
/// It sees the system calls themselves, whoever makes them: this project's code, SQLite or Foundation. Only the tasks that
/// ``violations(_:)`` starts are observed, so that tests beside it may read files as they like.
public enum BlockingCheck {
    /// A call that may wait, made where nothing may wait.
    public struct Violation: Sendable, Hashable, CustomStringConvertible {
        /// The system call.
        public let call: String
        /// Empty for a call that waits without a file.
        public let path: String
        /// Where it was made, as addresses for addr2line.
        public let callers: String
        public var description: String { "\(call) \(path)\n    \(callers)" }
    }

    private final class Recorder: Sendable {
        let violations = Mutex<[Violation]>([])
    }

    @TaskLocal private static var recorder: Recorder?
    private static let users = Mutex(0)

    /// Runs `body` and all tasks that it starts, observed.
    public static func violations(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Void
    ) async rethrows -> [Violation] {
        let recorder = Recorder()
        users.withLock { users in
            users += 1
            blocking_calls_observe(observe)
        }
        defer {
            users.withLock { users in
                users -= 1
                if users == 0 { blocking_calls_observe(nil) }
            }
        }
        try await $recorder.withValue(recorder) { try await body() }
        return recorder.violations.withLock { $0 }
    }

    private static let observe: blocking_calls_observer = { call, path in
        // A thread that runs no task has no recorder.
        guard let recorder = BlockingCheck.recorder, let call, let path else { return }
        let callers = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { text in
            blocking_calls_backtrace(text.baseAddress, 1024)
            return String(cString: text.baseAddress!)
        }
        let violation = Violation(call: String(cString: call), path: String(cString: path), callers: callers)
        recorder.violations.withLock { $0.append(violation) }
    }
}
