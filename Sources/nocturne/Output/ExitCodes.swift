import NocturneBatch
import NocturneOutput

/// The exit code of the process.
enum NocturneExit: Int32, Error {
    case allCompleted = 0
    case internalError = 1
    case usage = 2
    case someFailed = 3
    case nothingMatched = 4
    /// Stopped early, safe to resume (EX_TEMPFAIL).
    case stoppedEarly = 75
    /// Between an engine and its supervisor alone, which exits with ``stoppedEarly``: another machine can do it.
    case unsuitableMachine = 76
    /// Likewise: a person is to look at the latest items, and no task of a cluster is to continue it before.
    case tripped = 77
    case interrupted = 130
    case terminated = 143

    /// For a run stopped by a signal.
    init(stoppedBy signal: Int32) { self = signal == 2 ? .interrupted : .terminated }

    init(_ error: BatchError) {
        switch error.code {
        case .nothingMatched: self = .nothingMatched
        case .outputFull: self = .stoppedEarly
        case .otherArithmetic: self = .unsuitableMachine
        case .engineDied, .optionsUnusable: self = .internalError
        case .outputUnwritable, .workUnusable, .outputInUse, .notABatch, .linkInOutput, .optionsDiffer, .divided,
            .notAShard, .inputMissing, .unknownItem, .modelUnusable, .clusterRefused, .threadsUnavailable:
            self = .usage
        }
    }

    /// For the outcome of a run.
    /// - Parameter givenUp: why the run could not continue; nil if it could.
    /// - Parameter isTripped: whether the run has ended so that a person can look at the latest items.
    /// - Parameter incomplete: how many results are without an output that was asked for.
    init(
        _ counts: BatchCounts,
        mode: RunControl.Mode,
        signal: Int32?,
        givenUp: String? = nil,
        isTripped: Bool = false,
        incomplete: Int = 0
    ) {
        if let signal {
            self.init(stoppedBy: signal)
            return
        }
        if isTripped {
            self = .tripped
        } else if givenUp != nil {
            self = .stoppedEarly
        } else if counts.notReached > 0 && mode == .draining {
            self = .stoppedEarly
        } else if counts.failed + counts.quarantined + counts.cancelled + counts.notReached + incomplete > 0 {
            self = .someFailed
        } else if counts.completed == 0 {
            self = .nothingMatched
        } else {
            self = .allCompleted
        }
    }
}
