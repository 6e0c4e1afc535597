import Foundation
import NocturneSupervisor
import Testing

/// Events in the order of a script, and what the supervisor does about them.
private struct ScriptedProcess: SupervisorProcess {
    enum Step { case event(SupervisorEvent, after: Duration = .zero), spawnFails(Int32) }

    var monotonic = Duration.zero
    var outOfMemoryKills: Int? = 0
    var isEngineExiting = false
    var script: [Step]
    let log = Log()

    final class Log: @unchecked Sendable {
        var lines: [String] = []
    }

    init(_ script: [Step]) { self.script = script }

    mutating func spawn(previousEnd: String?) -> Int32? {
        log.lines.append("spawn" + (previousEnd.map { " after \($0)" } ?? ""))
        if case .spawnFails(let code) = script.first { return code }
        return nil
    }

    mutating func nextEvent(within patience: Duration?) -> SupervisorEvent {
        guard case .event(let event, let duration) = script.removeFirst() else { return .waitFailed(EINVAL) }
        if let patience, duration >= patience {
            monotonic += patience
            return .timeout
        }
        monotonic += duration
        if event == .crashed(signal: SIGKILL) { outOfMemoryKills = 1 }
        return event
    }

    func forward(_ signal: Int32) { log.lines.append("forward \(signal)") }
    func killEngine() { log.lines.append("kill") }
    mutating func keepLock() { log.lines.append("lock") }
    func report(_ text: String) { log.lines.append(text) }
}

@Suite("The supervisor's loop")
struct SupervisorTests {
    @Test("An engine that crashes is followed by another, which is told why")
    func restart() {
        let process = ScriptedProcess([.event(.crashed(signal: SIGKILL), after: .seconds(9)), .event(.exited(3))])
        var supervisor = Supervisor(process)
        #expect(supervisor.run() == .engineExited(3))
        let reason = "signal 9 (Killed), probably by the kernel because memory ran out"
        #expect(
            process.log.lines
                == ["spawn", "the engine crashed: \(reason); restarting it", "lock", "spawn after \(reason)"]
        )
    }

    @Test("An engine that does not stop in time is killed")
    func deaf() {
        let process = ScriptedProcess([
            .event(.signal(SIGTERM)), .event(.exited(0), after: .seconds(31)), .event(.crashed(signal: SIGKILL)),
        ])
        var supervisor = Supervisor(process)
        #expect(supervisor.run() == .stopped(signal: SIGTERM))
        #expect(process.log.lines.prefix(2) == ["spawn", "forward 15"] && process.log.lines.last == "kill")
    }

    @Test("An engine that cannot be killed is left")
    func hangs() {
        let later = Duration.seconds(100)
        for isExiting in [false, true] {
            let end: [ScriptedProcess.Step] =
                isExiting ? [.event(.exits)] : [.event(.signal(SIGTERM)), .event(.exited(0), after: later)]
            var process = ScriptedProcess(end + [.event(.exited(0), after: later)])
            process.isEngineExiting = isExiting
            var supervisor = Supervisor(process)
            #expect(supervisor.run() == .engineHangs)
            #expect(process.log.lines.last?.hasPrefix("the engine is stuck") == true)
            #expect(process.log.lines.contains("kill") == !isExiting)
        }
    }

    @Test("A signal in the meantime does not extend the time to stop")
    func secondSignal() {
        let process = ScriptedProcess([
            .event(.signal(SIGTERM)), .event(.signal(SIGUSR2), after: .seconds(20)),
            .event(.exited(0), after: .seconds(11)), .event(.crashed(signal: SIGKILL)),
        ])
        var supervisor = Supervisor(process)
        #expect(supervisor.run() == .stopped(signal: SIGTERM))
        #expect(process.log.lines.contains("kill"))
    }

    @Test("An engine that cannot be started or waited for ends it with a report")
    func failures() {
        for script: [ScriptedProcess.Step] in [[.spawnFails(ENOMEM)], [.event(.waitFailed(ECHILD))]] {
            let process = ScriptedProcess(script)
            var supervisor = Supervisor(process)
            #expect(supervisor.run() == .failed)
            #expect(process.log.lines.last?.hasPrefix("cannot ") == true)
        }
    }
}
