internal import CPosix
import Foundation
public import NocturneOutput
public import NocturneSystem

/// Runs the engine in a child process and supervises it.
public enum RunSupervision {
    /// Runs a command line again in a child process, the engine, until the engine exits by itself.
    ///
    /// Blocks the calling thread: the kernel ends the engine together with the thread that started it.
    /// - Parameters:
    ///   - arguments: the command line, with the name of the program.
    ///   - keepsInput: whether the engine reads standard input. It is then read once into memory, for every engine that may
    ///     be started; otherwise engines read nothing.
    ///   - isConfirmed: whether the user has confirmed changed options.
    ///   - show: shows a message without blocking.
    public static func run(
        on output: OutputFolder,
        arguments: [String],
        keepsInput: Bool,
        isConfirmed: Bool,
        time: any TimeSource,
        show: @escaping @Sendable (String) -> Void
    ) -> SupervisorEnd {
        // A process that ignores SIGCHLD does not receive the exit codes of its children. Read before anything is changed.
        signal(SIGCHLD, SIG_DFL)
        let ignoresHangUp = ignoresHangUp()
        var (readyDescriptor, isConfirmed): (Int32?, Bool) = (nil, isConfirmed)
        if case .detachedSupervisor(let descriptor, let wasConfirmed) = ProcessHandover.received {
            (readyDescriptor, isConfirmed) = (descriptor, wasConfirmed)
        }
        if keepsInput, let problem = keepInput() {
            show("cannot read the list of inputs from standard input: \(problem). Give --list a file")
            return .failed
        }
        let handover = EngineHandover(
            run: name(time),
            ignoresHangUp: ignoresHangUp,
            readyDescriptor: readyDescriptor,
            isConfirmed: isConfirmed
        )
        do {
            let process = try SystemSupervisorProcess(
                output,
                arguments: arguments,
                handover: handover,
                keepsInput: keepsInput,
                time: time,
                show: show
            )
            var supervisor = Supervisor(process)
            return supervisor.run()
        } catch {
            show("\(error)")
            return .failed
        }
    }

    /// A name that no other run has.
    private static func name(_ time: any TimeSource) -> String {
        "\(getpid()) since \(time.wallClock.timestamp), \(UUID().uuidString)"
    }

    /// Whether the process was started with hang-ups ignored, as `nohup` does.
    private static func ignoresHangUp() -> Bool {
        var before = sigaction()
        sigaction(SIGHUP, nil, &before)
        return cposix_is_ignored(&before) == 1
    }

    /// Moves standard input into a file without a name, which every engine can read from its start.
    /// - Returns: Why it could not.
    private static func keepInput() -> String? {
        let file = cposix_memory_file("nocturne-input")
        guard file >= 0 else { return errnoText() }
        defer { close(file) }
        do {
            let input = try FileHandle.standardInput.readToEnd() ?? Data()
            try FileHandle(fileDescriptor: file, closeOnDealloc: false).write(contentsOf: input)
        } catch {
            return "\(error)"
        }
        return dup2(file, 0) < 0 ? errnoText() : nil
    }
}
