import Foundation
import Glibc
import NocturneSystem

/// The data that a process of a run gets from the process that started it, in one environment variable.
public enum ProcessHandover: Codable, Sendable, Hashable {
    /// To a supervisor without a terminal: the descriptor of a pipe into which a byte is written once the batch has begun.
    /// `isConfirmed` as in ``EngineHandover/isConfirmed``.
    case detachedSupervisor(readyDescriptor: Int32, isConfirmed: Bool)
    /// To an engine, from its supervisor.
    case engine(EngineHandover)
    /// To a process that only shows what changed options affect: see ``ChangePreview``.
    case changePreview

    /// The environment variable; it is removed as soon as it was read.
    package static let variable = "NOCTURNE_HANDOVER"

    /// An engine sends this to announce that it ends itself. No other process of a run sends it, and its default action is none.
    static let exitSignal = SIGURG

    /// The data for this process; nil for one that a user has started. Read once, and removed from the environment so
    /// that no program started from here takes it for its own.
    public static let received: ProcessHandover? = {
        let text = getenv(variable).map { String(cString: $0) }
        unsetenv(variable)
        return text.flatMap(ProcessHandover.init(text:))
    }()

    /// The engine's hand-over; nil in a process that is not the engine.
    public static var toEngine: EngineHandover? {
        if case .engine(let handover) = received { return handover }
        return nil
    }

    /// Nil for a text that is not a hand-over.
    package init?(text: String) {
        guard let handover = try? JSONDecoder().decode(ProcessHandover.self, from: Data(text.utf8)) else { return nil }
        self = handover
    }

    /// The value of the variable: JSON in one line.
    package var text: String {
        // Strings and numbers always encode.
        (try? StableJSON.text(self)) ?? ""
    }

    /// The environment of the process that is to be given this.
    package func environment(_ inherited: [String: String]) -> [String: String] {
        var environment = inherited
        environment[ProcessHandover.variable] = text
        // A crash is reported in one line. The backtrace, which shows parts of the memory, only on request.
        environment["SWIFT_BACKTRACE"] = environment["SWIFT_BACKTRACE"] ?? "enable=no"
        return environment
    }
}

extension EngineHandover {
    /// Ends the calling process, an engine, at once.
    ///
    /// The supervisor is signalled first: where a thread is stuck in an uninterruptible system call, the kernel cannot end
    /// the process before the call returns, and the supervisor would not be notified.
    public static func exit(_ code: Int32) -> Never {
        if ProcessHandover.toEngine != nil { kill(getppid(), ProcessHandover.exitSignal) }
        _exit(code)
    }
}

/// The data that an engine gets from the supervisor.
public struct EngineHandover: Codable, Sendable, Hashable {
    /// The name of the run: the same for every engine of one supervisor, and for no other.
    public var run: String
    /// How the engine before this one ended, as the end of a sentence; nil for the first.
    public var previousEnd: String?
    /// The descriptor of the output folder's lock, which the supervisor has kept since an engine crashed.
    public var lockDescriptor: Int32?
    /// Whether hang-ups are ignored, as under `nohup`.
    public var ignoresHangUp: Bool
    /// Where a byte is written once the batch has begun; nil when no process waits for that.
    public var readyDescriptor: Int32?
    /// Whether the user was asked about changed options and has confirmed them.
    public var isConfirmed: Bool

    /// Without a previous end for the first engine of a run.
    public init(
        run: String,
        previousEnd: String? = nil,
        lockDescriptor: Int32? = nil,
        ignoresHangUp: Bool = false,
        readyDescriptor: Int32? = nil,
        isConfirmed: Bool = false
    ) {
        self.run = run
        self.previousEnd = previousEnd
        self.lockDescriptor = lockDescriptor
        self.ignoresHangUp = ignoresHangUp
        self.readyDescriptor = readyDescriptor
        self.isConfirmed = isConfirmed
    }
}
