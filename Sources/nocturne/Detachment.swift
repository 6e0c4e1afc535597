import CPosix
import Foundation
import NocturneBatch
import NocturneSystem

/// A run that goes on without the terminal it was started from.
enum Detachment {
    /// Where what would have gone to the terminal goes.
    static func log(of output: OutputFolder) -> String { output.hidden + "/log" }

    /// Starts this very command line, without its flag, in a session of its own; returns once it has taken the folder.
    /// - Throws: ``NocturneExit`` with its code when it ended before that, ``BatchError`` when it cannot be started.
    static func start(_ output: OutputFolder) throws {
        if let holder = BatchLock.holder(of: output) {
            throw BatchError(.outputInUse, path: output.path, detail: "process \(holder) is working on this batch")
        }
        try output.create()
        signal(SIGCHLD, SIG_DFL)
        let log = log(of: output)
        let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            throw BatchError(.outputUnwritable, path: log, detail: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        let before = lseek(descriptor, 0, SEEK_END)
        let arguments = CommandLine.arguments.filter { $0 != "--detach" }.map { strdup($0) } + [nil]
        defer { for pointer in arguments { free(pointer) } }
        let pid = cposix_spawn_detached("/proc/self/exe", arguments, descriptor)
        guard pid > 0 else {
            throw BatchError(.engineDied, path: output.path, detail: String(cString: strerror(-pid)))
        }
        while BatchLock.holder(of: output) == nil {
            var status: Int32 = 0
            var code: Int32 = 0
            if waitpid(pid, &status, WNOHANG) == pid {
                let text = (try? FileSystem.read(log)).map {
                    String(decoding: $0.dropFirst(Int(before)), as: UTF8.self)
                }
                Terminal.say((text ?? "").trimmingCharacters(in: .whitespacesAndNewlines))
                throw cposix_exit_status(status, &code) == 1
                    ? NocturneExit(rawValue: code) ?? .internalError : .internalError
            }
            usleep(20_000)
        }
        Terminal.say(
            "Process \(pid) works on it; its words go to \(log). Look at it with: nocturne attach \(output.path)"
        )
    }
}
