internal import CPosix
import Foundation

/// A program that is run to its end, in its own process group and without a shell.
///
/// It has ended when its process has: processes that it leaves behind are not waited for, whatever files they hold open.
/// (Foundation's `Process` waits for them: they inherit the socket by which it notices the end.)
///
/// ```swift
/// var command = Command("squeue", ["--noheader", "--job", "1234"])
/// command.capturesOutput = true
/// command.limit = .seconds(30)
/// let result = try command.run()
/// guard result.end == .exited(code: 0) else { return nil }
/// return result.output
/// ```
public struct Command: Sendable {
    /// How a program ended.
    public enum End: Sendable, Hashable {
        case exited(code: Int32)
        case killed(signal: Int32)
        /// It took longer than ``Command/limit``: the process group got SIGTERM and then SIGKILL.
        case tookTooLong
    }

    /// How a program ended, and what it wrote.
    public struct Result: Sendable {
        /// `tookTooLong` also where the program ended by itself after SIGTERM.
        public let end: End
        /// Standard output; empty unless ``Command/capturesOutput`` is set.
        public let output: String
        /// Standard error, likewise.
        public let errors: String
    }

    /// A path, or a name that is searched for in `PATH`.
    public let program: String
    /// Without the program's name.
    public let arguments: [String]
    /// All variables: those of this process, unless they are replaced.
    public var environment = ProcessInfo.processInfo.environment
    /// The content of standard input.
    public var input = ""
    /// Whether both outputs are returned. Otherwise both go to standard error.
    public var capturesOutput = false
    /// How long it may take.
    public var limit = Duration.seconds(600)
    /// How long it has after SIGTERM, and how long its end is waited for after SIGKILL.
    public var grace = Duration.seconds(5)

    /// - Parameters:
    ///   - program: a path, or a name that is searched for in `PATH`.
    ///   - arguments: as they are: no shell expands or divides them.
    public init(_ program: String, _ arguments: [String]) {
        self.program = program
        self.arguments = arguments
    }

    /// Runs the program to its end. Blocks the calling thread.
    /// - Throws: ``FileSystemError`` when the program cannot be started: with `ENOENT` when there is none.
    public func run() throws(FileSystemError) -> Result {
        let files = try MemoryFiles(input: input)
        let process = try spawn(files)
        let end = end(of: process)
        return Result(end: end, output: files.text(of: files.output), errors: files.text(of: files.errors))
    }

    // MARK: Starting

    private func spawn(_ files: MemoryFiles) throws(FileSystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        var (none, all) = (sigset_t(), sigset_t())
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        // Copies of `dup2` stay open in the program; the files themselves are closed on exec.
        posix_spawn_file_actions_adddup2(&actions, files.input, 0)
        posix_spawn_file_actions_adddup2(&actions, capturesOutput ? files.output : 2, 1)
        if capturesOutput { posix_spawn_file_actions_adddup2(&actions, files.errors, 2) }
        // Signals that this process blocks or ignores would stay so in the program.
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var process: pid_t = 0
        let code = Self.withCStrings([program] + arguments, environment) { arguments, variables in
            posix_spawnp(&process, program, &actions, &attributes, arguments, variables)
        }
        guard code == 0 else { throw FileSystemError(operation: "run the program", path: program, code: code) }
        return process
    }

    // MARK: Waiting

    private func end(of process: pid_t) -> End {
        let isInTime = Self.hasEnded(process, within: limit)
        if !isInTime {
            // The group, so that the children of the program end, too.
            kill(-process, SIGTERM)
            _ = Self.hasEnded(process, within: grace)
            // Also when the process has ended: others of its group may ignore SIGTERM. It still has its number.
            kill(-process, SIGKILL)
            // A process that waits for a dead share ends when the share answers.
            _ = Self.hasEnded(process, within: grace)
        }
        var code: Int32 = 0
        // Collects the child: only now may its number be given to another process.
        let kind = cposix_child_status(process, &code)
        guard isInTime else { return .tookTooLong }
        // Without a status: somebody has this process ignore its children's ends.
        return kind == 0 ? .killed(signal: code) : .exited(code: kind == 1 ? code : 0)
    }

    /// Waits for the end of a child, without collecting it: its number still belongs to it then.
    private static func hasEnded(_ process: pid_t, within limit: Duration) -> Bool {
        let clock = SystemTime()
        let deadline = clock.monotonic + limit
        // Before Linux 5.3 there are no descriptors of processes: the child is looked at fifty times a second.
        let descriptor = cposix_process_open(process)
        defer { if descriptor >= 0 { close(descriptor) } }
        while true {
            var information = siginfo_t()
            let result = waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT)
            // A process that ignores its children's ends has no child left then.
            guard result == 0 || errno == EINTR else { return true }
            if information._sifields._sigchld.si_pid == process { return true }
            let left = max(deadline - clock.monotonic, .zero)
            if left == .zero { return false }
            var ended = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&ended, descriptor >= 0 ? 1 : 0, Int32(min(left.inSeconds, descriptor >= 0 ? 3600 : 0.02) * 1000) + 1)
        }
    }

    /// Input and outputs in memory: no pipe has to be emptied while the program runs, or is held open after its end.
    private final class MemoryFiles {
        let input: Int32
        let output: Int32
        let errors: Int32

        init(input text: String) throws(FileSystemError) {
            (input, output, errors) = (
                cposix_memory_file("input"), cposix_memory_file("output"), cposix_memory_file("errors")
            )
            guard input >= 0, output >= 0, errors >= 0 else {
                throw FileSystemError(.create, path: "a file in memory", code: errno)
            }
            var text = text
            let isWritten = text.withUTF8 { write(input, $0.baseAddress, $0.count) == $0.count }
            guard isWritten, lseek(input, 0, SEEK_SET) == 0 else {
                throw FileSystemError(.write, path: "a file in memory", code: errno)
            }
        }

        deinit {
            for descriptor in [input, output, errors] where descriptor >= 0 { close(descriptor) }
        }

        /// At most 1 MiB from the start.
        func text(of descriptor: Int32) -> String {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return "" }
            let bytes = [UInt8](unsafeUninitializedCapacity: min(Int(status.st_size), 1 << 20)) { buffer, count in
                count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension Command {
    /// Lends arguments and environment as C has them: two lists that end with a null pointer.
    package static func withCStrings<Result>(
        _ arguments: [String],
        _ environment: [String: String],
        _ body: ([UnsafeMutablePointer<CChar>?], [UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let arguments = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        return body(arguments, variables)
    }
}
