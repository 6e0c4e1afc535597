import Foundation
import NocturneConcurrency
import NocturneJournal
public import NocturneOutput
import NocturneSystem
import Synchronization

/// Runs the user's commands for the end of an item and of the run with `/bin/sh -c`, one after the other, while the batch
/// continues; it waits for them only at its end. A command that fails, or that takes longer than the limit and is ended,
/// becomes a note. Processes that a command leaves behind are not waited for.
public final class HookRunner: Sendable {
    /// A command and its environment.
    private struct Call {
        let command: String
        let environment: [String: String]
        /// For messages.
        let title: String
    }

    private struct State {
        /// Runs the latest command once those before it have ended.
        var last: Task<Void, Never>?
        /// Receives what went wrong.
        var note: @Sendable (String) async -> Void
    }

    private let onItem: String?
    private let onEnd: String?
    private let output: OutputFolder
    private let limit: Duration
    private let grace: Duration
    private let pool: BlockingPool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - onItem: run when an item has ended; nil for no command.
    ///   - onEnd: run when the run has ended; nil for no command.
    ///   - limit: how long one command may take; then its process group gets SIGTERM.
    ///   - grace: how long after that it gets SIGKILL.
    ///   - note: receives what went wrong.
    /// - Throws: `ThreadStartError`.
    public init(
        _ output: OutputFolder,
        onItem: String? = nil,
        onEnd: String? = nil,
        limit: Duration = .seconds(600),
        grace: Duration = .seconds(5),
        note: @escaping @Sendable (String) async -> Void
    ) throws {
        self.output = output
        self.onItem = onItem
        self.onEnd = onEnd
        self.limit = limit
        self.grace = grace
        state = Mutex(State(note: note))
        // A thread for the commands alone: one at a time, and it may block.
        pool = try BlockingPool(width: 1)
    }

    deinit { pool.shutdown() }

    /// Sends what goes wrong from now on elsewhere.
    public func sendNotes(to note: @escaping @Sendable (String) async -> Void) { state.withLock { $0.note = note } }

    /// Runs the command for items after the event that ends an item. Returns at once.
    public func handle(_ event: BatchEvent) {
        guard let command = onItem, let item = event.item, let itemState = event.event.finalState else { return }
        var environment = [
            "NOCTURNE_OUTPUT": output.path, "NOCTURNE_ITEM": item, "NOCTURNE_STATE": itemState.rawValue,
            "NOCTURNE_REASON": event.reason ?? "",
        ]
        if itemState == .completed { environment["NOCTURNE_FOLDER"] = output.item(item) }
        let call = Call(command: command, environment: environment, title: "--on-item for \(item)")
        state.withLock { state in
            let before = state.last
            state.last = Task {
                await before?.value
                await self.run(call)
            }
        }
    }

    /// Waits for the commands of all items so far.
    public func itemsEnded() async { await state.withLock(\.last)?.value }

    /// Waits for the commands of items, then runs the command for the end.
    /// - Parameter code: the exit code of the program.
    public func batchEnded(_ counts: BatchCounts, code: Int32) async {
        await itemsEnded()
        guard let command = onEnd else { return }
        let environment = [
            "NOCTURNE_OUTPUT": output.path, "NOCTURNE_EXIT_CODE": "\(code)", "NOCTURNE_INPUTS": "\(counts.inputs)",
            "NOCTURNE_COMPLETED": "\(counts.completed)", "NOCTURNE_FAILED": "\(counts.failed)",
            "NOCTURNE_SKIPPED": "\(counts.skipped)", "NOCTURNE_CANCELLED": "\(counts.cancelled)",
            "NOCTURNE_QUARANTINED": "\(counts.quarantined)", "NOCTURNE_NOT_REACHED": "\(counts.notReached)",
        ]
        await run(Call(command: command, environment: environment, title: "--on-end"))
    }

    private func run(_ call: Call) async {
        if let fault = await pool.run({ [limit, grace] in Self.fault(of: call, limit, grace) }) {
            await state.withLock(\.note)("\(call.title): \(fault)")
        }
    }

    /// Runs the command to its end.
    /// - Returns: what went wrong; nil for exit code 0.
    private static func fault(of call: Call, _ limit: Duration, _ grace: Duration) -> String? {
        // Both outputs go to standard error: standard output may have the events as JSON.
        var command = Command("/bin/sh", ["-c", call.command])
        command.environment = ProcessInfo.processInfo.environment.merging(call.environment) { $1 }
        (command.limit, command.grace) = (limit, grace)
        do {
            return switch try command.run().end {
            case .exited(code: 0): nil
            case .exited(let code): "the command exited with \(code)"
            case .killed(let signal): "the command was ended by signal \(signal)"
            case .tookTooLong: "the command was ended after \(limit.components.seconds) s"
            }
        } catch {
            return "the command cannot be started: \(errnoText(error.code))"
        }
    }
}

extension BatchEvent.Kind {
    /// The state of an item after this event; nil where it has not ended.
    fileprivate var finalState: ItemState? {
        switch self {
        case .itemCompleted: .completed
        case .itemFailed: .failed
        case .itemSkipped: .skipped
        case .itemCancelled: .cancelled
        case .itemQuarantined: .quarantined
        default: nil
        }
    }
}
