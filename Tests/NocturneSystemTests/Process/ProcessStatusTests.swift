import Foundation
import NocturneSystem
import Testing

@Suite("The status of a process")
struct ProcessStatusTests {
    @Test(
        "A process exits when its first thread has ended, or has been given the kernel's kill",
        arguments: [
            ("Name:\tnocturne\nState:\tZ (zombie)\nPid:\t7\n", true),
            ("Name:\tnocturne\nState:\tX (dead)\n", true),
            ("Name:\tState: Z\nState:\tD (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n", true),
            ("Name:\tnocturne\nState:\tD (disk sleep)\nSigPnd:\t0000000000004000\n", false),
            ("Name:\tnocturne\nState:\tS (sleeping)\nSigPnd:\t0000000000000000\n", false),
            ("", false),
        ]
    )
    func text(text: String, isExiting: Bool) {
        #expect(ProcessIdentity.isExiting(status: text) == isExiting)
    }

    @Test("This process runs, and there is no process 0")
    func real() {
        #expect(ProcessIdentity.isExiting(getpid()) == false)
        #expect(ProcessIdentity.isExiting(0) == nil)
    }

    @Test("A child that has ended exits until its parent has noticed")
    func zombie() throws {
        var process = pid_t()
        let arguments = [strdup("true"), nil]
        defer { free(arguments[0]) }
        try #require(posix_spawnp(&process, "true", nil, nil, arguments, nil) == 0)
        var information = siginfo_t()
        try #require(waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) == 0)
        #expect(ProcessIdentity.isExiting(process) == true)
        var status: Int32 = 0
        #expect(waitpid(process, &status, 0) == process)
        #expect(ProcessIdentity.isExiting(process) == nil)
    }
}
