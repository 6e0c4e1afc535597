import NocturneBatch
import NocturneOutput

/// The exit code of the process.
enum NocturneExit: Int32, Error {
    /// Every item has a result.
    case allCompleted = 0
    /// A fault of the program, or of the system that it runs on.
    case internalError = 1
    /// The command line, or a folder it names, cannot be used; nothing was processed.
    case usage = 2
    /// Some items have no result, or lack an output or a comparison that was asked for.
    case someFailed = 3
    /// No input was found, or nothing was completed although nothing failed.
    case nothingMatched = 4
    /// A watch that could not continue, such as without its output folder (EX_IOERR): starting it again makes sense.
    /// Other commands exit with ``stoppedEarly``.
    case cannotContinue = 74
    /// Stopped early, safe to resume (EX_TEMPFAIL).
    case stoppedEarly = 75
    /// Between an engine and its supervisor alone, which exits with ``stoppedEarly``: another machine can do it.
    case unsuitableMachine = 76
    /// Likewise: a person is to look at the latest items, and no task of a cluster is to continue it before.
    case tripped = 77
    /// Ended by SIGINT: 128 and the number of the signal, as shells do.
    case interrupted = 130
    /// Ended by SIGTERM.
    case terminated = 143

    /// For a run stopped by a signal.
    init(stoppedBy signal: Int32) { self = signal == 2 ? .interrupted : .terminated }

    /// For an error that ends the program before or during a run.
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
    /// - Parameter lacking: how many results are without something that was asked for.
    init(
        _ counts: BatchCounts,
        mode: RunControl.Mode,
        signal: Int32?,
        givenUp: String? = nil,
        isTripped: Bool = false,
        lacking: Int = 0
    ) {
        // A signal ranks before the state of the items, since the user wants to see that the run was stopped.
        if let signal {
            self.init(stoppedBy: signal)
            return
        }
        if isTripped {
            self = .tripped
        } else if givenUp != nil {
            self = .cannotContinue
        } else if counts.notReached > 0 && mode == .draining {
            // A drained run leaves items on purpose, for another one.
            self = .stoppedEarly
        } else if counts.failed + counts.quarantined + counts.cancelled + counts.notReached + lacking > 0 {
            self = .someFailed
        } else if counts.completed == 0 {
            self = .nothingMatched
        } else {
            self = .allCompleted
        }
    }
}
