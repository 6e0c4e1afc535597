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
        if case .change(let text) = notice.status { await publish(text) }
        switch notice.message {
        case .event(let event): await progress.emit(event)
        case .note(let text): await progress.note(text)
        case nil: break
        }
    }
}

/// Something to show about waiting, and what `status` shows from then on.
struct WaitNotice: Sendable {
    enum Message: Sendable {
        case event(BatchEvent)
        case note(String)
    }
    enum Status: Sendable {
        case keep
        /// What the run waits for; nil for nothing.
        case change(String?)
    }
    var message: Message?
    var status = Status.keep

    static let spaceAgain = WaitNotice(
        message: .event(BatchEvent(.disk, reason: "has free space again")),
        status: .change(nil)
    )

    static func waitsForSpace(_ shortage: DiskShortage) -> WaitNotice {
        WaitNotice(
            message: .event(BatchEvent(.disk, reason: "\(shortage). The run waits for space; Ctrl-C stops it")),
            status: .change("free space on the disk\(shortage.place.map { " of \($0)" } ?? ""), which \(shortage.fact)")
        )
    }

    static func stopsForSpace(_ shortage: DiskShortage) -> WaitNotice {
        WaitNotice(message: .event(BatchEvent(.disk, reason: "\(shortage); stopping")))
    }

    static func waits(forOpeningOf window: WorkingHours.Window) -> WaitNotice {
        WaitNotice(
            message: .note("Nothing is started before \(window.from)."),
            status: .change("\(window.from); nothing is started before then")
        )
    }
}
