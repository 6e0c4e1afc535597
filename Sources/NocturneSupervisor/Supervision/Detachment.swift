internal import CPosix
import Foundation
public import NocturneOutput
import NocturneSystem

/// A run that continues without the terminal it was started from.
public enum Detachment {
    /// How starting it ended.
    public enum Outcome: Sendable, Hashable {
        /// The batch has begun; this process may end.
        case started(process: Int32, log: String)
        /// The run ended before that, with its output.
        case ended(code: Int32?, text: String)
    }

    /// Starts a command line, without its flag, in a new session. Returns once the batch has begun.
    /// - Parameters:
    ///   - arguments: the command line, with the name of the program.
    ///   - isConfirmed: whether the user has confirmed changed options.
    /// - Throws: ``BatchError`` when it cannot be started.
    public static func start(_ output: OutputFolder, _ arguments: [String], isConfirmed: Bool) throws -> Outcome {
        // Checked here too, so that the error is shown in the terminal and not in the log.
        let state = BatchLock.state(of: output)
        if state.isHeld { throw BatchError(inUse: output, by: state) }
        try output.checkReportsAreOwn()
        try output.create()
        // With SIGCHLD ignored, the exit code of the process could not be read below.
        signal(SIGCHLD, SIG_DFL)
        let path = output.log
        // O_NONBLOCK: a named pipe in its place would block; O_NOFOLLOW: neither is a link followed to another file.
        let log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o644)
        guard log >= 0 else {
            let detail = "cannot open the log: \(errnoText()). Make it writable, or move it away"
            throw BatchError(.outputUnwritable, path: path, detail: detail)
        }
        defer { close(log) }
        // Where this run's output begins in the log.
        let before = max(lseek(log, 0, SEEK_END), 0)
        var reading: Int32 = 0
        var writing: Int32 = 0
        let code = cposix_inheritable_pipe(&reading, &writing)
        guard code == 0 else {
            throw BatchError(.engineDied, path: output.path, detail: "cannot start the run: \(errnoText(code))")
        }
        defer { close(reading) }
        let arguments = arguments.filter { $0 != "--detach" }
        let process = spawn(
            .detachedSupervisor(readyDescriptor: writing, isConfirmed: isConfirmed),
            arguments,
            log: log
        )
        // The other end must be open in the run alone: then reading ends when the run ends.
        close(writing)
        guard process > 0 else {
            throw BatchError(.engineDied, path: output.path, detail: "cannot start the run: \(errnoText(-process))")
        }
        if hasBegun(reading) { return .started(process: process, log: path) }
        let text = (try? FileSystem.read(path)).map { String(decoding: $0.dropFirst(Int(before)), as: UTF8.self) }
        return .ended(code: exitCode(of: process), text: text ?? "")
    }

    private static func spawn(_ handover: ProcessHandover, _ arguments: [String], log: Int32) -> pid_t {
        let environment = handover.environment(ProcessInfo.processInfo.environment)
        return Command.withCStrings(arguments, environment) { arguments, variables in
            cposix_spawn_detached("/proc/self/exe", arguments, variables, log)
        }
    }

    /// Waits for the byte that is written when the batch has begun, or for the end of all processes that could write it.
    private static func hasBegun(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            return count == 1
        }
    }

    /// The exit code of a process that is about to end; nil when a signal ended it.
    static func exitCode(of process: pid_t) -> Int32? {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return nil }
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
    }

    /// Signals to a waiting process that the batch has begun.
    public static func reportBeginning(_ handover: EngineHandover?) {
        guard let descriptor = handover?.readyDescriptor, fcntl(descriptor, F_GETFD) >= 0 else { return }
        var byte: UInt8 = 1
        _ = write(descriptor, &byte, 1)
        close(descriptor)
    }
}
