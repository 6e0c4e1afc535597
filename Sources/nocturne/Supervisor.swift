import ArgumentParser
import CPosix
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneSystem
import Synchronization

/// The small parent: starts the engine as its child, hands signals on, and starts it again when it dies.
enum Supervisor {
    /// Holds the supervisor's name in the child.
    static let childVariable = "NOCTURNE_ENGINE"
    static let deathVariable = "NOCTURNE_ENGINE_DEATH"
    /// Holds the descriptor of the output folder's lock, in a child that follows a dead one.
    static let lockVariable = "NOCTURNE_ENGINE_LOCK"

    /// Whether this process is the child.
    static var isEngine: Bool { ProcessInfo.processInfo.environment[childVariable] != nil }

    /// Sees to it that the batch of this command line is worked on, unless this is the process that is to do so.
    ///
    /// - Returns: Whether it is: whether this is the engine. Elsewhere, false once another process goes on without this one
    ///   (`detach`); else this becomes the engine's supervisor, and nothing is returned.
    /// - Parameter keepsInput: as in ``run(on:keepsInput:)``.
    /// - Throws: as ``Detachment/start(_:)``; `ValidationError` for standard input that a detached process cannot have.
    static func begin(on output: OutputFolder, detach: Bool, keepsInput: Bool = false) throws -> Bool {
        if isEngine { return true }
        if !detach { run(on: output, keepsInput: keepsInput) }
        guard !keepsInput else {
            throw ValidationError("--detach leaves standard input behind: give --list a file")
        }
        try Detachment.start(output)
        return false
    }

    /// The supervisor's name, in an engine that was started after another one's death.
    static var ofRestartedEngine: String? {
        let environment = ProcessInfo.processInfo.environment
        return environment[deathVariable] == nil ? nil : environment[childVariable]
    }

    private static let hangUpVariable = "NOCTURNE_IGNORE_HANGUP"

    /// Whether the process was started with hang-ups ignored, as `nohup` does; asked before anything is changed.
    static let ignoresHangUp: Bool = {
        if isEngine { return ProcessInfo.processInfo.environment[hangUpVariable] != nil }
        var before = sigaction()
        sigaction(SIGHUP, nil, &before)
        return cposix_is_ignored(&before) == 1
    }()

    /// Deaths in a row, each within seconds of the start, after which nothing but a fault of the engine itself is left.
    private static let mostQuickDeaths = 40

    private struct State {
        var child: pid_t = 0
        /// The first signal that asked to stop.
        var stop: Int32?
        /// Whether nothing new is to be begun.
        var drains = false
    }

    /// Runs this very command line in a child until it exits by itself. Does not return.
    ///
    /// - Parameter keepsInput: whether the child reads standard input. It is then read whole once, for every child that
    ///   may have to be started; otherwise children read nothing.
    private static func run(on output: OutputFolder, keepsInput: Bool) -> Never {
        let state = Mutex(State())
        // Whoever ignores the ends of children hands that on, and nobody learns how the engine ended.
        signal(SIGCHLD, SIG_DFL)
        if keepsInput { keepInput() }
        SignalListener.start([SIGINT, SIGTERM, SIGUSR1, SIGUSR2] + (ignoresHangUp ? [] : [SIGHUP])) { number in
            state.withLock { state in
                switch number {
                case SIGUSR1: state.drains = true
                case SIGUSR2: break
                default: state.stop = state.stop ?? number
                }
                if state.child > 0 { kill(state.child, number) }
            }
        }
        let name = "\(getpid()) since \(Date().timeIntervalSince1970)"
        var death: String?
        // Between two engines the folder is still this run's.
        var lock: BatchLock?
        var quickDeaths = 0
        while true {
            let start = Date()
            let killsBefore = MemoryReading.outOfMemoryKills()
            if let stop = state.withLock({ $0.stop }) { leave(after: stop) }
            let pid = spawn(name: name, death: death, lock: lock, keepsInput: keepsInput)
            guard pid > 0 else {
                Terminal.error("the engine cannot be started: \(String(cString: strerror(-pid)))")
                exit(NocturneExit.internalError.rawValue)
            }
            state.withLock { state in
                state.child = pid
                // A signal that came before there was a child is handed on now.
                if let stop = state.stop { kill(pid, stop) }
                if state.drains { kill(pid, SIGUSR1) }
            }
            var status: Int32 = 0
            while waitpid(pid, &status, 0) != pid {
                guard errno != EINTR else { continue }
                Terminal.error("the engine cannot be waited for: \(String(cString: strerror(errno)))")
                exit(NocturneExit.internalError.rawValue)
            }
            let stop = state.withLock { state in
                state.child = 0
                return state.stop
            }
            var code: Int32 = 0
            if cposix_exit_status(status, &code) == 1 { exit(code) }
            // Asked to stop before it listened to signals itself, maybe by the terminal and before this process heard of it.
            if let stop = stop ?? ([SIGINT, SIGTERM].contains(code) ? code : nil) { leave(after: stop) }
            death = describe(code, newKills: kills(since: killsBefore))
            lock = lock ?? (try? BatchLock(output))
            lock?.say(nil)
            quickDeaths = -start.timeIntervalSinceNow < 5 ? quickDeaths + 1 : 0
            if quickDeaths >= mostQuickDeaths {
                Terminal.error("the engine dies again and again: \(death ?? "")")
                exit(NocturneExit.internalError.rawValue)
            }
            Terminal.error("the engine died: \(death ?? ""); it is started again")
        }
    }

    /// Out-of-memory kills of the kernel since an earlier count; 0 where it does not count them.
    private static func kills(since before: Int?) -> Int {
        guard let before, let now = MemoryReading.outOfMemoryKills() else { return 0 }
        return now - before
    }

    /// How the engine died, in words that a reason can end with.
    private static func describe(_ signal: Int32, newKills: Int) -> String {
        if signal == SIGALRM { return "no progress" }
        let words = "signal \(signal) (\(String(cString: strsignal(signal))))"
        // The kernel counts them for the whole group: which process it chose is not told.
        return signal == SIGKILL && newKills > 0 ? words + ", probably by the kernel for want of memory" : words
    }

    private static func leave(after signal: Int32) -> Never {
        exit((signal == SIGINT ? NocturneExit.interrupted : .terminated).rawValue)
    }

    /// Moves standard input into a file without a name, which every child can read from its start.
    private static func keepInput() {
        let file = cposix_memory_file("nocturne-input")
        guard file >= 0 else {
            return Terminal.error("standard input cannot be kept: \(String(cString: strerror(errno)))")
        }
        let input = FileHandle.standardInput.readDataToEndOfFile()
        try? FileHandle(fileDescriptor: file, closeOnDealloc: false).write(contentsOf: input)
        dup2(file, 0)
        close(file)
    }

    private static func spawn(name: String, death: String?, lock: BatchLock?, keepsInput: Bool) -> pid_t {
        if keepsInput { lseek(0, 0, SEEK_SET) }
        var environment = ProcessInfo.processInfo.environment
        environment[childVariable] = name
        environment[deathVariable] = death
        environment[lockVariable] = lock.map { "\($0.handOn())" }
        if ignoresHangUp { environment[hangUpVariable] = "1" }
        // A crash is told in one line; the back trace, with pieces of memory in it, only to who asks for it.
        environment["SWIFT_BACKTRACE"] = environment["SWIFT_BACKTRACE"] ?? "enable=no"
        let arguments = CommandLine.arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for pointer in arguments + variables { free(pointer) }
        }
        return cposix_spawn("/proc/self/exe", arguments, variables, keepsInput ? 0 : 1)
    }
}
