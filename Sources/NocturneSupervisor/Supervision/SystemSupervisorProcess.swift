internal import CPosix
import Foundation
import NocturneOutput
import NocturneSystem

/// The engine as a real child process of this one.
struct SystemSupervisorProcess: SupervisorProcess {
    private let output: OutputFolder
    /// The engine's command line.
    private let arguments: [String]
    private let time: any TimeSource
    private let signals: SignalSource
    private let keepsInput: Bool
    private let show: @Sendable (String) -> Void
    /// The data for every engine.
    private var handover: EngineHandover
    private var engine: pid_t = 0
    /// Between two engines the folder still belongs to this run.
    private var lock: BatchLock?

    /// - Parameters:
    ///   - keepsInput: whether the engine reads standard input, which is then a file.
    ///   - show: shows a message without blocking.
    init(
        _ output: OutputFolder,
        arguments: [String],
        handover: EngineHandover,
        keepsInput: Bool,
        time: any TimeSource,
        show: @escaping @Sendable (String) -> Void
    ) throws(SignalError) {
        self.output = output
        self.arguments = arguments
        self.handover = handover
        self.keepsInput = keepsInput
        self.time = time
        self.show = show
        SignalListener.ignoreOthers(ignoresHangUp: handover.ignoresHangUp)
        let heard = SignalMeaning.heard(ignoresHangUp: handover.ignoresHangUp)
        signals = try SignalSource(heard + [SIGCHLD, ProcessHandover.exitSignal])
    }

    var monotonic: Duration { time.monotonic }
    var outOfMemoryKills: Int? { MemoryReading.outOfMemoryKills() }

    mutating func spawn(previousEnd: String?) -> Int32? {
        if keepsInput { lseek(0, 0, SEEK_SET) }
        handover.previousEnd = previousEnd
        handover.lockDescriptor = lock?.handOn()
        let environment = ProcessHandover.engine(handover).environment(ProcessInfo.processInfo.environment)
        let pid = Command.withCStrings(arguments, environment) { arguments, variables in
            cposix_spawn("/proc/self/exe", arguments, variables, keepsInput ? 0 : 1)
        }
        guard pid > 0 else { return -pid }
        engine = pid
        return nil
    }

    mutating func nextEvent(within patience: Duration?) -> SupervisorEvent {
        let deadline = patience.map { time.monotonic + $0 }
        while true {
            // The end of the engine is looked for each time: its signal may be one of several that came together.
            if let ended = collectEngine() { return ended }
            do {
                switch try signals.next(within: deadline.map { $0 - time.monotonic }) {
                case .signal(SIGCHLD): continue
                case .signal(ProcessHandover.exitSignal): return .exits
                case .signal(let number): return .signal(number)
                case .timeout: return .timeout
                }
            } catch {
                return .waitFailed(error.code)
            }
        }
    }

    private mutating func collectEngine() -> SupervisorEvent? {
        var code: Int32 = 0
        let result = cposix_child_status(engine, &code)
        guard result != 2 else { return nil }
        engine = 0
        if result < 0 { return .waitFailed(-result) }
        return result == 1 ? .exited(code) : .crashed(signal: code)
    }

    func forward(_ signal: Int32) {
        guard engine > 0 else { return }
        kill(engine, signal)
        kill(engine, SIGCONT)
    }

    func killEngine() {
        if engine > 0 { kill(engine, SIGKILL) }
    }

    var isEngineExiting: Bool { ProcessIdentity.isExiting(engine) ?? false }

    mutating func keepLock() {
        // The engine has ended and released it; another process that queries it holds it for an instant.
        var attempts = 0
        while lock == nil, attempts < 100 {
            lock = try? BatchLock(output, run: handover.run)
            attempts += 1
            if lock == nil { sched_yield() }
        }
        lock?.say(nil)
    }

    func report(_ text: String) { show(text) }
}
