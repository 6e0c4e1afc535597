import NocturneConcurrency
public import NocturneJournal
import NocturneOutput
public import NocturneSystem

/// A time in which a run starts nothing and its active items wait.
public struct RunPause: Codable, Sendable, Hashable {
    /// When it began, in seconds since 1970.
    public var since: Int
    /// When it ends by itself, in seconds since 1970; nil for never.
    public let until: Int?
    /// Whether active items are put back, so that their memory is free meanwhile.
    public let releasesMemory: Bool
    /// Whether a pilot waits for its approval, which alone ends this pause.
    public let awaitsApproval: Bool

    /// - Parameters:
    ///   - since: in seconds since 1970.
    ///   - until: in seconds since 1970; nil for a pause that only a request ends.
    ///   - releasesMemory: whether active items are put back.
    ///   - awaitsApproval: whether a pilot waits for its approval.
    public init(since: Int, until: Int? = nil, releasesMemory: Bool = false, awaitsApproval: Bool = false) {
        (self.since, self.until, self.releasesMemory) = (since, until, releasesMemory)
        self.awaitsApproval = awaitsApproval
    }

    /// As in "since 2026-11-24 13:00:00 CET, until 2026-11-24 18:00:00 CET", in local time.
    public var text: String {
        let end = awaitsApproval ? "the pilot is approved" : until.map { WallTime(seconds: $0).zonedText }
        return "since \(WallTime(seconds: since).zonedText)" + (end.map { ", until \($0)" } ?? "")
    }

    /// The command that ends it.
    public var command: String { awaitsApproval ? "nocturne approve" : "nocturne continue" }

    /// Whether it has ended by itself.
    public func isOver(at moment: WallTime) -> Bool { until.map { $0 <= moment.seconds } ?? false }
}

extension JournalSetting<RunPause> {
    /// The pause in which the last run was, and with which the next one begins.
    public static var pause: Self { Self(json: "pause") }
}

/// Items that are processed before the others, which wait until a person has approved the results.
struct Pilot: Codable, Sendable {
    /// How many items.
    let count: Int
    /// How many items of the batch were completed when it began.
    let completedBefore: Int
    var isApproved = false
}

extension JournalSetting<Pilot> {
    /// The pilot of a batch that needs approval; nil for none.
    static var pilot: Self { Self(json: "pilot") }
}

extension Journal {
    /// Approves the pilot, so that the other items are processed, now and in later runs. Durable when it returns.
    public func approvePilot() throws(JournalError) {
        if var pilot = try value(of: .pilot) {
            pilot.isApproved = true
            try set(.pilot, to: pilot)
        }
        try remove(.pause)
    }
}

/// Records the pauses of a run, so that the next engine or run continues as this one was, and ends a pause whose time is over.
actor PauseKeeper {
    private let journal: Journal
    private let waiting: RunWaiting
    private var recorded: RunPause?
    private var recording: Task<Void, Never>?

    init(_ journal: Journal, _ waiting: RunWaiting) { (self.journal, self.waiting) = (journal, waiting) }

    private var control: RunControl { waiting.control }

    /// Continues the pause of the engine or run before this one, unless a request came first: the folder can be locked long before the
    /// journal is read.
    /// - Throws: ``JournalError``.
    func restore() async throws(JournalError) {
        guard let pause = try await journal.value(of: .pause), pause != recorded else { return }
        // A run may have been killed between the approval and the end of the pause.
        var isOver = pause.isOver(at: waiting.time.wallClock)
        if pause.awaitsApproval { isOver = try await journal.value(of: .pilot)?.isApproved ?? true }
        guard isOver || !control.restore(pause), recorded == nil else { return }
        // Removed as if this run had been in it, after what was requested meanwhile.
        recorded = pause
        await update()
    }

    /// Follows the requests until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let generation = control.changes.generation
            let now = waiting.time.wallClock
            if let pause = control.pause, pause.isOver(at: now) { control.endPause() }
            await update()
            // Somebody may set the system's clock meanwhile.
            let limit = control.pause?.until.map { Duration.seconds(min($0 - now.seconds, 60)) }
            do { try await control.changes.wait(after: generation, atMost: limit, waiting.time) } catch { return }
        }
    }

    /// Returns once the present state is recorded.
    func update() async {
        let (pause, before) = (control.pause, recorded)
        if pause != before {
            recorded = pause
            // A chain, so that pauses are recorded in their order. The actor itself would let a later call overtake.
            recording = Task { [recording] in
                await recording?.value
                await record(pause, after: before)
            }
        }
        await recording?.value
    }

    /// Forgets the pause: whoever adds items to a batch in which nothing is left does not expect one.
    func batchEnded() async {
        if recorded != nil { try? await journal.remove(.pause) }
    }

    private func record(_ pause: RunPause?, after before: RunPause?) async {
        do {
            if let pause {
                try await journal.set(.pause, to: pause)
            } else if before?.awaitsApproval == true {
                try await journal.approvePilot()
            } else {
                try await journal.remove(.pause)
            }
        } catch {
            await waiting.progress.note("The pause cannot be recorded: \(error)")
        }
        var event: BatchEvent
        if let pause {
            event = BatchEvent(.paused, reason: pause.text)
            event.until = pause.until.map { WallTime(seconds: $0).timestamp }
            event.remedy = "\(pause.command) ends the pause"
        } else {
            let isOver = before?.isOver(at: waiting.time.wallClock) == true
            let reason = before?.awaitsApproval == true ? "the pilot is approved" : "on request"
            event = BatchEvent(.continued, reason: isOver ? "the pause is over" : reason)
        }
        await waiting.progress.emit(event)
    }
}
