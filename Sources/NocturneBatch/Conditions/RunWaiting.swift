import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What is used to wait for something, and to show that.
struct RunWaiting: Sendable {
    let control: RunControl
    let progress: ProgressReporter
    let time: any TimeSource
    let monitor: MachineMonitor
    /// For what asks the system about files, which takes as long as a disk or a share pleases.
    let probes: BlockingPool
    /// Where others can read what the run waits for; nil before the folder is locked.
    var lock: BatchLock?

    /// Waits for the next sample of the machine, or any other change.
    func sample(after generation: UInt64) async throws {
        try await monitor.whileSampling { try await control.changes.wait(after: generation) }
    }

    /// Writes down what the run waits for, for those who ask; nil for nothing.
    func publish(_ text: String?) async {
        await progress.noteWait(text != nil)
        guard let lock else { return }
        await probes.run { lock.say(text) }
    }

    /// A journal that another program has locked is waited for until the run is stopped, and an hour at most.
    var journalPatience: Journal.LockPatience {
        { [self] waited in
            if waited == .seconds(5) {
                // The journal's own thread asks, and cannot wait for an actor.
                Task { await progress.note("The journal is locked by another program; waiting for it.") }
            }
            return waited < .seconds(5) || waited < .seconds(3600) && control.mode == .running
        }
    }

    /// Shows that the run waits, or no longer does.
    func show(_ notice: WaitNotice) async {
        await publish(notice.status)
        if let event = notice.event { await progress.emit(event) }
    }
}

/// What the run waits for from now on.
struct WaitNotice: Sendable {
    /// What is shown about it besides; nil where another event is.
    var event: BatchEvent?
    /// For `status`; nil once the run waits for nothing.
    let status: String?

    static let spaceAgain = WaitNotice(event: BatchEvent(.disk, reason: "has free space again"), status: nil)

    static func waitsForSpace(_ shortage: DiskShortage) -> WaitNotice {
        WaitNotice(
            event: BatchEvent(.disk, reason: "\(shortage). The run waits for space; Ctrl-C stops it"),
            status: "free space on the disk, which \(shortage)"
        )
    }

    static func waits(forOpeningOf window: WorkingHours.Window) -> WaitNotice {
        WaitNotice(
            event: BatchEvent(.note, reason: "Nothing is started before \(window.from)."),
            status: "\(window.from); nothing is started before then"
        )
    }
}

extension BatchEvent {
    static func stopsForSpace(_ shortage: DiskShortage) -> BatchEvent {
        BatchEvent(.disk, reason: "\(shortage); stopping")
    }
}
