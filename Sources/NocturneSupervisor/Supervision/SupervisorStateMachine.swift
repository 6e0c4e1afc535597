import Glibc
import NocturneSystem

/// How an engine ended.
public enum EngineEnd: Sendable, Hashable {
    /// By itself, with an exit code.
    case exited(Int32)
    /// - Parameter outOfMemoryKills: how many processes the kernel has killed since the engine was started because memory
    ///   ran out. Which ones is not known.
    case crashed(signal: Int32, outOfMemoryKills: Int)

    /// The exit code of an engine that ends itself because an item makes no progress: a thread that is stuck in a system call
    /// cannot be stopped in another way.
    public static let stalledCode: Int32 = 79
}

/// How a supervisor ended.
public enum SupervisorEnd: Sendable, Hashable {
    /// With its engine, and the engine's exit code.
    case engineExited(Int32)
    /// By a request to stop, while there was no engine to pass it to.
    case stopped(signal: Int32)
    /// Without its engine, which is stuck in an uninterruptible system call. The engine ends when the call returns, and
    /// keeps the output folder locked until then.
    case engineHangs
    /// It could not continue and has reported the reason.
    case failed
}

/// What the supervisor does next, whatever happens: it starts the engine, forwards signals, and starts it again after a
/// crash.
public struct SupervisorStateMachine: Sendable, Hashable {
    /// What the supervisor has to do, in order.
    public enum Action: Sendable, Hashable {
        /// Keep the output folder locked until the next engine has taken it over.
        case keepLock
        /// Start an engine, and pass on whether that worked.
        /// - Parameter previousEnd: how the engine before it ended; nil for the first.
        case spawn(previousEnd: String?)
        /// Send the engine a signal. One that was suspended is continued, so that it can act on it.
        case forward(signal: Int32)
        /// From now on wait no longer than this.
        case limitWait(Duration)
        /// Send the engine SIGKILL.
        case killEngine
        /// Show this to the user.
        case report(String)
        /// The last one.
        case end(SupervisorEnd)
    }

    private enum Phase: Hashable { case idle, starting, running, ended }

    /// What the engine has a limited time for.
    private enum Wait: Hashable {
        case none
        /// To act on a request to stop.
        case stopping
        /// To end, after it has announced that it ends itself.
        case exiting
        /// To end, after it was killed.
        case killed
    }

    /// Crashes in a row, each within ``quick`` of the start, after which the engine itself must be at fault.
    package static let mostQuickCrashes = 40
    /// A crash within this time of the engine's start counts as quick.
    package static let quick = Duration.seconds(5)
    /// For the engine to end after a request to stop. It ends itself earlier, unless it cannot.
    package static let stopPatience = Duration.seconds(30)
    /// For the kernel to end an engine: it frees its memory, which takes a second or two, unless a thread is stuck in an uninterruptible
    /// system call, such as a write to a frozen file system.
    package static let exitPatience = Duration.seconds(15)

    private var phase = Phase.idle
    private var wait = Wait.none
    private var stop: Int32?
    private var drains = false
    private var quickCrashes = 0

    /// Before the first engine.
    public init() {}

    /// Begins.
    public mutating func begin() -> [Action] { spawn(previousEnd: nil) }

    private mutating func spawn(previousEnd: String?) -> [Action] {
        // A request to stop that came between two engines: no other one is started.
        if let stop { return end(.stopped(signal: stop)) }
        phase = .starting
        return [.spawn(previousEnd: previousEnd)]
    }

    private mutating func end(_ end: SupervisorEnd, _ report: String? = nil) -> [Action] {
        phase = .ended
        return (report.map { [.report($0)] } ?? []) + [.end(end)]
    }

    /// The engine that was asked for is running.
    public mutating func engineStarted() -> [Action] {
        guard phase == .starting else { return [] }
        phase = .running
        wait = stop == nil ? .none : .stopping
        // Requests that came while there was no engine. A drain was the request to another one.
        var actions: [Action] = drains ? [.forward(signal: SIGUSR1)] : []
        if let stop { actions += [.forward(signal: stop), .limitWait(SupervisorStateMachine.stopPatience)] }
        return actions
    }

    /// The engine that was asked for could not be started.
    public mutating func spawnFailed(_ code: Int32) -> [Action] {
        guard phase == .starting else { return [] }
        let advice = code == EAGAIN ? "; raise the limit of processes (ulimit -u)" : ""
        return end(.failed, "cannot start the engine: \(errnoText(code))\(advice)")
    }

    /// A signal has come to the supervisor.
    public mutating func received(_ signal: Int32) -> [Action] {
        let meaning = SignalMeaning.of(signal)
        guard meaning != .ignored, phase != .ended else { return [] }
        if meaning == .drain { drains = true }
        let isFirstStop = meaning == .stop && stop == nil
        if meaning == .stop { stop = stop ?? signal }
        guard phase == .running else { return [] }
        // A second request makes the engine stop faster; the time for it does not begin again.
        guard isFirstStop else { return [.forward(signal: signal)] }
        wait = .stopping
        return [.forward(signal: signal), .limitWait(SupervisorStateMachine.stopPatience)]
    }

    /// The engine announces that it ends itself.
    public mutating func engineExits() -> [Action] {
        guard phase == .running, wait == .none else { return [] }
        wait = .exiting
        return [.limitWait(SupervisorStateMachine.exitPatience)]
    }

    /// The time limit of the engine has passed.
    /// - Parameter isExiting: whether the kernel is ending the engine, and waits for one of its threads.
    public mutating func waitedTooLong(isExiting: Bool) -> [Action] {
        guard phase == .running else { return [] }
        switch wait {
        case .none: return []
        case .stopping:
            wait = .killed
            return [
                .report("the engine did not stop in time and is ended. The journal is consistent."), .killEngine,
                .limitWait(SupervisorStateMachine.exitPatience),
            ]
        // It announced its end but runs on: the announcement is not a reason to give it up.
        case .exiting where !isExiting:
            wait = .none
            return []
        case .exiting, .killed:
            return end(
                .engineHangs,
                "the engine is stuck in an uninterruptible system call and cannot be killed. It ends when the call "
                    + "returns, for example when the disk or server responds again, and keeps the output folder locked until "
                    + "then. The journal is consistent."
            )
        }
    }

    /// The engine has ended.
    /// - Parameter duration: how long it ran.
    public mutating func engineEnded(_ ended: EngineEnd, after duration: Duration) -> [Action] {
        guard phase == .running else { return [] }
        let reason: String
        switch ended {
        case .exited(EngineEnd.stalledCode): reason = "no progress"
        case .exited(let code): return end(.engineExited(code))
        case .crashed(let signal, let kills):
            // Stopped before it listened to signals itself, perhaps by the terminal and before the supervisor received the signal.
            if stop == nil, [SIGINT, SIGTERM].contains(signal) { stop = signal }
            reason = SupervisorStateMachine.reason(signal, kills)
        }
        if let stop { return end(.stopped(signal: stop)) }
        // Only quick crashes count: a later one may be the fault of an item, and the next engine deals with that.
        quickCrashes = duration < SupervisorStateMachine.quick ? quickCrashes + 1 : 0
        if quickCrashes >= SupervisorStateMachine.mostQuickCrashes {
            return end(.failed, "the engine crashes repeatedly: \(reason)")
        }
        // The lock is kept first: between two engines no other run may take the batch.
        return [.report("the engine crashed: \(reason); restarting it"), .keepLock] + spawn(previousEnd: reason)
    }

    /// The engine cannot be waited for.
    public mutating func waitFailed(_ code: Int32) -> [Action] {
        end(.failed, "cannot wait for the engine: \(errnoText(code))")
    }

    /// How a crash is put at the end of a sentence.
    private static func reason(_ signal: Int32, _ outOfMemoryKills: Int) -> String {
        let text = "signal \(signal) (\(String(cString: strsignal(signal))))"
        return signal == SIGKILL && outOfMemoryKills > 0
            ? text + ", probably by the kernel because memory ran out" : text
    }
}
