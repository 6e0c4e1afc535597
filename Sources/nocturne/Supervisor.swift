import CPosix
import Dispatch
import Foundation
import Synchronization

/// The small parent: starts the engine as its child, hands signals on, and starts it again when it dies.
enum Supervisor {
    static let childVariable = "NOCTURNE_ENGINE"
    static let deathVariable = "NOCTURNE_ENGINE_DEATH"

    /// Whether this process is the child.
    static var isEngine: Bool { ProcessInfo.processInfo.environment[childVariable] != nil }

    /// Deaths in a row, each within seconds of the start, after which nothing but a fault of the engine itself is left.
    private static let mostQuickDeaths = 40

    /// Runs this very command line in a child until it exits by itself. Does not return.
    static func run() -> Never {
        let child = Mutex<pid_t>(0)
        let queue = DispatchQueue(label: "nocturne.supervisor")
        var sources: [any DispatchSourceSignal] = []
        for number in [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { child.withLock { if $0 > 0 { kill($0, number) } } }
            source.resume()
            sources.append(source)
        }
        defer { withExtendedLifetime(sources) {} }
        var death: String?
        var quickDeaths = 0
        while true {
            let start = Date()
            let pid = spawn(death: death)
            guard pid > 0 else {
                Terminal.error("the engine cannot be started: \(String(cString: strerror(-pid)))")
                exit(NocturneExit.internalError.rawValue)
            }
            child.withLock { $0 = pid }
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            child.withLock { $0 = 0 }
            var code: Int32 = 0
            if cposix_exit_status(status, &code) == 1 { exit(code) }
            death = "signal \(code) (\(String(cString: strsignal(code))))"
            quickDeaths = -start.timeIntervalSinceNow < 5 ? quickDeaths + 1 : 0
            if quickDeaths >= mostQuickDeaths {
                Terminal.error("the engine dies again and again: \(death ?? "")")
                exit(NocturneExit.internalError.rawValue)
            }
            Terminal.error("the engine died: \(death ?? ""); it is started again")
        }
    }

    private static func spawn(death: String?) -> pid_t {
        var environment = ProcessInfo.processInfo.environment
        environment[childVariable] = "1"
        environment[deathVariable] = death
        let arguments = CommandLine.arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for pointer in arguments + variables { free(pointer) }
        }
        return cposix_spawn("/proc/self/exe", arguments, variables, 0)
    }
}
