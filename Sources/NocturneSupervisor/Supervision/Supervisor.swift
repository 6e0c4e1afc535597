/// What a supervisor needs of the operating system.
package protocol SupervisorProcess: Sendable {
    /// Time that never goes back.
    var monotonic: Duration { get }
    /// How many processes the kernel has killed so far because memory ran out; nil where it does not count them.
    var outOfMemoryKills: Int? { get }
    /// Starts an engine. Nil when it runs, else the code of the system.
    mutating func spawn(previousEnd: String?) -> Int32?
    /// Blocks until something happens.
    /// - Parameter patience: the longest wait; nil for no limit.
    mutating func nextEvent(within patience: Duration?) -> SupervisorEvent
    /// Sends the engine a signal, and continues it where it was suspended.
    func forward(_ signal: Int32)
    /// Ends the engine.
    func killEngine()
    /// Whether the kernel is ending the engine, and waits for one of its threads.
    var isEngineExiting: Bool { get }
    /// Keeps the output folder locked from now on.
    mutating func keepLock()
    /// Shows a message. Must not block: a stopped terminal must not delay a request to stop.
    func report(_ text: String)
}

/// What happens to a supervisor.
package enum SupervisorEvent: Sendable, Hashable {
    case signal(Int32)
    /// The engine announces that it ends itself.
    case exits
    case exited(Int32)
    case crashed(signal: Int32)
    case timeout
    case waitFailed(Int32)
}

/// The small parent of the engine: performs what ``SupervisorStateMachine`` decides, on one thread, until it ends.
package struct Supervisor<Process: SupervisorProcess> {
    private var machine = SupervisorStateMachine()
    /// The operating system, or its double in tests.
    package private(set) var process: Process
    private var engineStart = Duration.zero
    private var killsAtStart: Int?
    private var deadline: Duration?

    /// - Parameter process: starts engines, sends signals and has the clock.
    package init(_ process: Process) { self.process = process }

    /// Returns once there is nothing left to supervise.
    package mutating func run() -> SupervisorEnd {
        var actions = machine.begin()
        while true {
            var next: [SupervisorStateMachine.Action] = []
            for action in actions {
                if case .end(let end) = action { return end }
                next += perform(action)
            }
            actions = next.isEmpty ? wait() : next
        }
    }

    /// - Returns: What follows from it at once.
    private mutating func perform(_ action: SupervisorStateMachine.Action) -> [SupervisorStateMachine.Action] {
        switch action {
        case .spawn(let previousEnd):
            engineStart = process.monotonic
            killsAtStart = process.outOfMemoryKills
            deadline = nil
            return process.spawn(previousEnd: previousEnd).map { machine.spawnFailed($0) } ?? machine.engineStarted()
        case .keepLock: process.keepLock()
        case .forward(let signal): process.forward(signal)
        case .limitWait(let patience): deadline = process.monotonic + patience
        case .killEngine: process.killEngine()
        case .report(let text): process.report(text)
        case .end: break
        }
        return []
    }

    private mutating func wait() -> [SupervisorStateMachine.Action] {
        switch process.nextEvent(within: deadline.map { max(.zero, $0 - process.monotonic) }) {
        case .signal(let number): return machine.received(number)
        case .exits: return machine.engineExits()
        case .exited(let code): return machine.engineEnded(.exited(code), after: process.monotonic - engineStart)
        case .crashed(let signal):
            let kills = killsAtStart.flatMap { before in process.outOfMemoryKills.map { $0 - before } } ?? 0
            return machine.engineEnded(
                .crashed(signal: signal, outOfMemoryKills: kills),
                after: process.monotonic - engineStart
            )
        case .timeout:
            deadline = nil
            return machine.waitedTooLong(isExiting: process.isEngineExiting)
        case .waitFailed(let code): return machine.waitFailed(code)
        }
    }
}
