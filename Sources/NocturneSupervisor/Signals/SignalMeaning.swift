import Glibc

/// What a signal means to the processes of a run.
///
/// The default action of all of these ends a process without a report. Each has a rule here, so that no run ends that way
/// because a timer, a batch system or a shell has sent one.
public enum SignalMeaning: Sendable, Hashable {
    /// Stop now; what is in progress is saved. SIGXCPU and SIGPWR are warnings of a machine or batch system about to end
    /// the process.
    case stop
    /// Finish what is in progress and start nothing more.
    case drain
    /// Read the requests in the output folder.
    case readRequests
    case ignored

    /// The meaning of a signal's number; signals without a rule are ignored.
    public static func of(_ signal: Int32) -> SignalMeaning {
        switch signal {
        case SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPWR: .stop
        case SIGUSR1: .drain
        case SIGUSR2: .readRequests
        default: .ignored
        }
    }

    /// The signals that have a meaning.
    /// - Parameter ignoresHangUp: whether SIGHUP is to be ignored, as under `nohup`.
    public static func heard(ignoresHangUp: Bool) -> [Int32] {
        [SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPWR, SIGUSR1, SIGUSR2].filter { !ignoresHangUp || $0 != SIGHUP }
    }

    /// The signals that would end a process and have no meaning for a run. A file that grows beyond a limit (SIGXFSZ) and a
    /// reader that is gone (SIGPIPE) are reported by the writing call.
    package static let ignoredSignals = [SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ, SIGPIPE, SIGSTKFLT]
}
