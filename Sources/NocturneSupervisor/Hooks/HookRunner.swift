import Foundation
public import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneSystem
import Synchronization

/// Commands of the user that are run when an item has ended, and when the run has.
public struct Hooks: Sendable, Hashable {
    public var onItem: String?
    public var onEnd: String?

    public init(onItem: String? = nil, onEnd: String? = nil) {
        self.onItem = onItem
        self.onEnd = onEnd
    }

    /// Whether there is any command.
    public var isEmpty: Bool { onItem == nil && onEnd == nil }
}

/// Runs the user's commands with `/bin/sh -c`, one after the other and beside the batch, which does not wait for them until
/// its end. A command that fails, or that takes longer than the limit and is ended, becomes a note.
public final class HookRunner: Sendable {
    /// A command, and what its environment tells it.
    private struct Call {
        let command: String
        let environment: [String: String]
        /// For messages.
        let title: String
    }

    private struct State {
        var waiting: [Call] = []
        var worker: Task<Void, Never>?
    }

    private let hooks: Hooks
    private let output: OutputFolder
    private let limit: Duration
    private let note: @Sendable (String) -> Void
    private let pool: BlockingPool
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how long one command may take.
    ///   - note: says what went wrong.
    /// - Throws: `ThreadStartError`.
    public init(
        _ hooks: Hooks,
        _ output: OutputFolder,
        limit: Duration = .seconds(600),
        note: @escaping @Sendable (String) -> Void
    ) throws {
        self.hooks = hooks
        self.output = output
        self.limit = limit
        self.note = note
        pool = try BlockingPool(width: 1)
    }

    deinit { pool.shutdown() }

    /// Has the command for items run after an event that says that an item has ended. Returns at once.
    public func handle(_ event: BatchEvent) {
        guard let command = hooks.onItem, let item = event.item, let itemState = event.event.finalState else { return }
        var environment = [
            "NOCTURNE_OUTPUT": output.path, "NOCTURNE_ITEM": item, "NOCTURNE_STATE": itemState.rawValue,
            "NOCTURNE_REASON": event.reason ?? "",
        ]
        if itemState == .completed { environment["NOCTURNE_FOLDER"] = output.item(item) }
        let call = Call(command: command, environment: environment, title: "--on-item for \(item)")
        state.withLock { state in
            state.waiting.append(call)
            if state.worker == nil { state.worker = Task { await self.work() } }
        }
    }

    /// Waits for the commands of items, then runs the command for the end.
    /// - Parameter code: with which the program will exit.
    public func batchEnded(_ counts: BatchCounts, code: Int32) async {
        while let worker = state.withLock({ $0.worker }) { await worker.value }
        guard let command = hooks.onEnd else { return }
        let environment = [
            "NOCTURNE_OUTPUT": output.path, "NOCTURNE_EXIT_CODE": "\(code)", "NOCTURNE_INPUTS": "\(counts.inputs)",
            "NOCTURNE_COMPLETED": "\(counts.completed)", "NOCTURNE_FAILED": "\(counts.failed)",
            "NOCTURNE_SKIPPED": "\(counts.skipped)", "NOCTURNE_CANCELLED": "\(counts.cancelled)",
            "NOCTURNE_QUARANTINED": "\(counts.quarantined)", "NOCTURNE_NOT_REACHED": "\(counts.notReached)",
        ]
        await run(Call(command: command, environment: environment, title: "--on-end"))
    }

    private func work() async {
        while true {
            let next = state.withLock { state -> Call? in
                guard !state.waiting.isEmpty else {
                    state.worker = nil
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let next else { return }
            await run(next)
        }
    }

    private func run(_ call: Call) async {
        if let fault = await pool.run({ [limit] in Self.fault(of: call, limit) }) {
            note("\(call.title): \(fault)")
        }
    }

    /// Runs the command to its end.
    /// - Returns: what went wrong; nil for exit code 0.
    private static func fault(of call: Call, _ limit: Duration) -> String? {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", call.command]
        process.environment = ProcessInfo.processInfo.environment.merging(call.environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        // Standard output may have the events as JSON.
        process.standardOutput = FileHandle.standardError
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        do { try process.run() } catch { return "the command cannot be started: \(error.localizedDescription)" }
        if ended.wait(timeout: .now() + limit.inSeconds) == .timedOut {
            process.terminate()
            ended.wait()
            return "the command was ended after \(limit.components.seconds) s"
        }
        guard process.terminationReason == .exit else {
            return "the command was ended by signal \(process.terminationStatus)"
        }
        return process.terminationStatus == 0 ? nil : "the command exited with \(process.terminationStatus)"
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
