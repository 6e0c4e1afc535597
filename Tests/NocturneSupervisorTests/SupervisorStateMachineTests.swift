import Foundation
import NocturneSupervisor
import NocturneTestSupport
import Testing

@Suite("What the supervisor decides")
struct SupervisorStateMachineTests {
    typealias Machine = SupervisorStateMachine

    /// A machine whose engine runs.
    private func running() -> Machine {
        var machine = Machine()
        #expect(machine.begin() == [.spawn(previousEnd: nil)])
        #expect(machine.engineStarted().isEmpty)
        return machine
    }

    @Test("The engine's exit code ends it", arguments: [0, 1, 2, 3, 4, 75, 130, 143, 127] as [Int32])
    func exits(code: Int32) {
        var machine = running()
        #expect(machine.engineEnded(.exited(code), after: .seconds(1)) == [.end(.engineExited(code))])
        #expect(machine.received(SIGTERM).isEmpty)
    }

    @Test("A crash is reported, and the next engine is given the folder's lock and the reason")
    func crash() {
        var machine = running()
        let reason = "signal 11 (Segmentation fault)"
        #expect(
            machine.engineEnded(.crashed(signal: SIGSEGV, outOfMemoryKills: 1), after: .seconds(60)) == [
                .report("the engine crashed: \(reason); restarting it"), .keepLock, .spawn(previousEnd: reason),
            ]
        )
        #expect(machine.engineStarted().isEmpty)
        #expect(machine.engineEnded(.exited(0), after: .seconds(1)) == [.end(.engineExited(0))])
    }

    @Test(
        "The reason says what the kernel and the engine know",
        arguments: [
            (EngineEnd.crashed(signal: SIGKILL, outOfMemoryKills: 0), "signal 9 (Killed)"),
            (
                EngineEnd.crashed(signal: SIGKILL, outOfMemoryKills: 1),
                "signal 9 (Killed), probably by the kernel because memory ran out"
            ),
            (EngineEnd.exited(EngineEnd.stalledCode), "no progress"),
        ]
    )
    func reasons(end: EngineEnd, reason: String) {
        var machine = running()
        #expect(machine.engineEnded(end, after: .seconds(60)).last == .spawn(previousEnd: reason))
    }

    @Test("Forty quick crashes in a row end it; a slow one in between starts the count again")
    func quickCrashes() {
        var machine = running()
        for round in 0..<2 {
            for _ in 1..<Machine.mostQuickCrashes {
                #expect(machine.engineEnded(.crashed(signal: 6, outOfMemoryKills: 0), after: .seconds(1)).count == 3)
                _ = machine.engineStarted()
            }
            let duration = round == 0 ? Duration.seconds(5) : .seconds(4)
            let actions = machine.engineEnded(.crashed(signal: 6, outOfMemoryKills: 0), after: duration)
            _ = machine.engineStarted()
            #expect(actions.last == (round == 0 ? .spawn(previousEnd: "signal 6 (Aborted)") : .end(.failed)))
        }
    }

    @Test("Signals are forwarded by their meaning, and the first request to stop limits the wait")
    func signals() {
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPWR] {
            var machine = running()
            #expect(machine.received(signal) == [.forward(signal: signal), .limitWait(Machine.stopPatience)])
            #expect(machine.received(SIGINT) == [.forward(signal: SIGINT)])
            #expect(
                machine.waitedTooLong(isExiting: false).suffix(2) == [.killEngine, .limitWait(Machine.exitPatience)]
            )
            #expect(
                machine.engineEnded(.crashed(signal: SIGKILL, outOfMemoryKills: 0), after: .seconds(40))
                    == [.end(.stopped(signal: signal))]
            )
        }
        var machine = running()
        for signal in [SIGUSR1, SIGUSR2] { #expect(machine.received(signal) == [.forward(signal: signal)]) }
        for signal in [SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ, SIGSTKFLT, SIGWINCH] {
            #expect(machine.received(signal).isEmpty)
        }
        #expect(machine.waitedTooLong(isExiting: false).isEmpty)
    }

    @Test("An engine that is killed and does not end is left, with a report")
    func hangs() {
        var machine = running()
        _ = machine.received(SIGTERM)
        _ = machine.waitedTooLong(isExiting: false)
        let actions = machine.waitedTooLong(isExiting: false)
        guard case .report(let text) = actions.first else {
            Issue.record("nothing is reported")
            return
        }
        #expect(text.contains("system call") && actions.last == .end(.engineHangs))
    }

    @Test("An engine that says that it ends itself is left if the kernel cannot end it, and else waited for")
    func exitsItself() {
        var machine = running()
        #expect(machine.engineExits() == [.limitWait(Machine.exitPatience)])
        #expect(machine.engineExits().isEmpty)
        #expect(machine.waitedTooLong(isExiting: true).last == .end(.engineHangs))

        machine = running()
        _ = machine.engineExits()
        #expect(machine.waitedTooLong(isExiting: false).isEmpty)
        #expect(
            machine.engineEnded(.exited(EngineEnd.stalledCode), after: .seconds(60)).last
                == .spawn(previousEnd: "no progress")
        )
    }

    @Test("An engine that a terminal has stopped before it listened is not restarted", arguments: [SIGINT, SIGTERM])
    func stoppedEarly(signal: Int32) {
        var machine = running()
        #expect(
            machine.engineEnded(.crashed(signal: signal, outOfMemoryKills: 0), after: .zero)
                == [.end(.stopped(signal: signal))]
        )
    }

    @Test("A drain is also forwarded to the engine that follows a crash")
    func drains() {
        var machine = running()
        _ = machine.received(SIGUSR1)
        _ = machine.engineEnded(.crashed(signal: SIGSEGV, outOfMemoryKills: 0), after: .seconds(60))
        #expect(machine.engineStarted() == [.forward(signal: SIGUSR1)])
    }

    @Test("An engine that cannot be started ends it, with the system's reason and what to do")
    func spawnFails() {
        var machine = Machine()
        _ = machine.begin()
        let actions = machine.spawnFailed(EAGAIN)
        #expect(actions.last == .end(.failed))
        guard case .report(let text) = actions.first else {
            Issue.record("nothing is reported")
            return
        }
        #expect(text.contains("temporarily unavailable") && text.contains("ulimit -u"))
    }

    @Test("Every sequence of events leads to one end, with one engine at a time and nothing forwarded to none")
    func exhaustively() {
        let exploration = Exploration.of(SupervisorWorld())
        #expect(exploration.fault == nil)
        #expect(exploration.isComplete && exploration.states > 100, "\(exploration)")
    }
}

/// A supervisor with an engine that may do anything, and an observer of what is done.
private struct SupervisorWorld: SmallWorld {
    enum Move: Hashable {
        case started, spawnFailed, exits(Int32), crashes(Int32), slowCrash, signal(Int32), saysExit, waitFails
        case tooLong(isExiting: Bool)
    }

    struct Key: Hashable {
        let machine: SupervisorStateMachine
        let engine: Engine
        let end: SupervisorEnd?
        let stop: Int32?
    }

    enum Engine: Hashable { case none, starting, running, killed }

    private var machine = SupervisorStateMachine()
    private var engine = Engine.none
    private var end: SupervisorEnd?
    /// The first request to stop.
    private var stop: Int32?
    private(set) var fault: String?

    init() { perform(machine.begin()) }

    var key: Key { Key(machine: machine, engine: engine, end: end, stop: stop) }

    var moves: [Move] {
        guard end == nil else { return [] }
        let signals = [SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM].map(Move.signal)
        switch engine {
        case .none: return []
        case .starting: return [.started, .spawnFailed] + signals
        case .running:
            let ends: [Move] = [
                .exits(0), .exits(3), .exits(EngineEnd.stalledCode), .crashes(SIGKILL), .crashes(SIGTERM), .slowCrash,
            ]
            return ends + signals + [.saysExit, .tooLong(isExiting: false), .tooLong(isExiting: true), .waitFails]
        case .killed: return [.crashes(SIGKILL), .tooLong(isExiting: true)] + signals
        }
    }

    mutating func make(_ move: Move) -> String? {
        let before = engine
        switch move {
        case .started:
            engine = .running
            perform(machine.engineStarted())
        case .spawnFailed:
            engine = .none
            perform(machine.spawnFailed(EAGAIN))
        case .exits(let code):
            engine = .none
            perform(machine.engineEnded(.exited(code), after: .zero))
        case .crashes(let signal):
            if [SIGINT, SIGTERM].contains(signal) { stop = stop ?? signal }
            engine = .none
            perform(machine.engineEnded(.crashed(signal: signal, outOfMemoryKills: 0), after: .zero))
        case .slowCrash:
            engine = .none
            perform(machine.engineEnded(.crashed(signal: SIGSEGV, outOfMemoryKills: 0), after: .seconds(10)))
        case .signal(let signal):
            if SignalMeaning.of(signal) == .stop { stop = stop ?? signal }
            perform(machine.received(signal))
        case .saysExit: perform(machine.engineExits())
        case .tooLong(let isExiting): perform(machine.waitedTooLong(isExiting: isExiting))
        case .waitFails: perform(machine.waitFailed(ECHILD))
        }
        if end == nil, engine == .none { return "there is neither an engine nor an end" }
        if case .exits(let code) = move, code != EngineEnd.stalledCode, end != .engineExited(code) {
            return "the exit code \(code) is not passed on"
        }
        if end == .engineHangs, move != .tooLong(isExiting: true) { return "an engine is left that may yet end" }
        if case .crashes = move, let stop, end != .stopped(signal: stop) {
            return "an engine follows a request to stop"
        }
        if case .signal(SIGALRM) = move, engine != before { return "an ignored signal has an effect" }
        return nil
    }

    private mutating func perform(_ actions: [SupervisorStateMachine.Action]) {
        for action in actions {
            if end != nil { fault = "something is done after the end" }
            switch action {
            case .spawn:
                if engine != .none { fault = "two engines" }
                if stop != nil { fault = "an engine is started after a request to stop" }
                engine = .starting
            case .forward: if engine != .running && engine != .killed { fault = "a signal is sent to no engine" }
            case .killEngine:
                if stop == nil { fault = "the engine is killed without a request" }
                engine = .killed
            case .keepLock: if engine != .none { fault = "the lock is taken from an engine" }
            case .end(let end): self.end = end
            case .limitWait, .report: break
            }
        }
    }

    /// The engine ends with success as soon as it can.
    mutating func settle() -> String? {
        for _ in 0..<4 where end == nil {
            let fault =
                switch engine {
                case .starting: make(.started)
                case .running: make(.exits(0))
                case .killed: make(.crashes(SIGKILL))
                case .none: "there is neither an engine nor an end"
                }
            if let fault = fault ?? self.fault { return fault }
        }
        return end == nil ? "it does not end" : nil
    }
}
