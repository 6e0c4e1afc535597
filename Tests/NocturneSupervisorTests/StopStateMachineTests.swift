import Foundation
import NocturneSupervisor
import Testing

@Suite("Requests to stop")
struct StopStateMachineTests {
    private func begun() -> StopStateMachine {
        var machine = StopStateMachine()
        machine.batchBegins()
        return machine
    }

    @Test("Before the batch has begun there is nothing to save")
    func early() {
        var machine = StopStateMachine()
        #expect(machine.deadline == nil && machine.looked(at: .seconds(99)) == .none)
        #expect(machine.requested(SIGTERM, at: .zero) == .leave(signal: SIGTERM))
    }

    @Test("The first request asks items to stop, the second ends the process, with the first one's code")
    func twice() {
        var machine = begun()
        #expect(machine.requested(SIGINT, at: .seconds(5)) == .cancel)
        #expect(machine.received == SIGINT)
        #expect(machine.requested(SIGTERM, at: .seconds(6)) == .leave(signal: SIGINT))
    }

    @Test("The same request by way of the group and the supervisor is one")
    func echo() {
        var machine = begun()
        #expect(machine.requested(SIGTERM, at: .seconds(5)) == .cancel)
        #expect(machine.requested(SIGTERM, at: .seconds(5) + .milliseconds(299)) == .none)
        #expect(machine.requested(SIGTERM, at: .seconds(5) + .milliseconds(301)) == .leave(signal: SIGTERM))
    }

    @Test("The kernel repeats that the processor time is used up; items still have their time to stop")
    func processorTime() {
        var machine = begun()
        #expect(machine.requested(SIGXCPU, at: .zero) == .cancel)
        for second in 1...5 { #expect(machine.requested(SIGXCPU, at: .seconds(second)) == .none) }
    }

    @Test("Items that do not stop are left behind")
    func late() {
        var machine = begun()
        _ = machine.requested(SIGINT, at: .seconds(100))
        #expect(machine.deadline == .seconds(110))
        #expect(machine.looked(at: .seconds(109)) == .none)
        #expect(machine.looked(at: .seconds(110)) == .leave(signal: SIGINT))
    }

    @Test("Every signal that would end a process has a rule")
    func rules() {
        // Those that report a fault of the process itself, or cannot be handled, or are a request to end it at once.
        let others = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGKILL, SIGQUIT]
        // Those without an effect on a process, or that suspend it.
        let harmless = [SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH]
        let rules = SignalMeaning.heard(ignoresHangUp: false) + SignalMeaning.ignoredSignals
        #expect(Set(rules + others + harmless) == Set(1...31))
        #expect(rules.count + others.count + harmless.count == 31)
        #expect(!SignalMeaning.heard(ignoresHangUp: true).contains(SIGHUP))
        for signal in SignalMeaning.ignoredSignals { #expect(SignalMeaning.of(signal) == .ignored) }
    }
}
