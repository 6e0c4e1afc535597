import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Programs that are run to their end")
struct CommandTests {
    private func shell(_ text: String) -> Command {
        var command = Command("sh", ["-c", text])
        (command.capturesOutput, command.limit) = (true, .seconds(20))
        return command
    }

    @Test("get their input and environment, and return both outputs and their end")
    func outputs() throws {
        var command = shell("cat; echo $NAME >&2; exit 4")
        command.input = "in"
        command.environment["NAME"] = "value"
        let result = try command.run()
        #expect(result.end == .exited(code: 4) && result.output == "in" && result.errors == "value\n")
        #expect(try shell("kill -9 $$").run().end == .killed(signal: 9))
    }

    @Test("may write more than a pipe holds to both outputs")
    func muchOutput() throws {
        let result = try shell("head -c 200000 /dev/zero >&2; head -c 200000 /dev/zero").run()
        #expect(result.output.utf8.count == 200_000 && result.errors.utf8.count == 200_000)
    }

    @Test("have ended when their process has, whoever holds their outputs open")
    func leftBehind() throws {
        let result = try shell("sleep 100 & echo $!").run()
        #expect(result.end == .exited(code: 0))
        let process = try #require(Int32(result.output.dropLast()))
        #expect(kill(process, SIGKILL) == 0)
    }

    @Test("are killed with their group when they take too long and ignore SIGTERM")
    func tooLong() throws {
        var command = shell("trap '' TERM; sleep 100 & echo $! $$; while :; do sleep 1; done")
        (command.limit, command.grace) = (.milliseconds(200), .milliseconds(50))
        let result = try command.run()
        #expect(result.end == .tookTooLong)
        let processes = result.output.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        #expect(processes.count == 2)
        for process in processes { #expect(ends(process)) }
    }

    /// Whether a process is there no longer, or is soon not: between the signal and its end, its status does not tell.
    private func ends(_ process: Int32) -> Bool {
        let deadline = ContinuousClock.now + .seconds(20)
        var isExiting = false
        blockThread {
            isExiting = ProcessIdentity.isExiting(process) ?? true
            return isExiting || ContinuousClock.now >= deadline
        }
        return isExiting
    }

    @Test("that are not there are an error with their name")
    func missing() {
        let error = #expect(throws: FileSystemError.self) { try Command("nocturne-none", []).run() }
        #expect(error?.code == ENOENT && error?.path == "nocturne-none")
    }
}
