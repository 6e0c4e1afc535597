import NocturneConcurrency
import NocturneJournal
import NocturneSystem

extension JournalSetting<RunLimits> {
    /// The limits of the run that last worked on the batch.
    static var runLimits: Self { Self(json: "limits") }
}

/// Limits that stay the same from the start of a run to its end, also for engines that are started after a crash and in later
/// rounds: memory that other processes take meanwhile is waited for and makes no item fail, and the deadline does not move.
struct RunLimits: Codable, Sendable {
    /// Of the run; nil without one.
    private let supervisor: String?
    /// For everything, in bytes.
    let memoryBytes: Int
    /// In seconds since 1970; nil for none, and for a watch, which has another one each day.
    private let deadline: Int?

    /// Those that an earlier engine of this run has recorded, or new ones.
    /// - Throws: ``JournalError``.
    init(_ options: BatchOptions, _ journal: Journal, time: any TimeSource) async throws(JournalError) {
        let current = options.supervision.supervisor
        if options.supervision.previousCrash != nil, current != nil,
            let recorded = try await journal.value(of: .runLimits), recorded.supervisor == current
        {
            self = recorded
            return
        }
        supervisor = current
        memoryBytes = options.resources.memoryBytes ?? MemoryBudget.defaultTotal(MemoryReading.take())
        let hours = options.rules.watch == nil ? options.rules.hours.deadline(after: time.wallClock.seconds) : nil
        deadline = [hours, options.rules.deadline].compactMap(\.self).min()
        if supervisor != nil { try await journal.set(.runLimits, to: self) }
    }

    /// When what is started now is to be finished, in seconds since 1970; nil for never.
    func deadline(_ hours: WorkingHours, after now: Int) -> Int? { deadline ?? hours.deadline(after: now) }
}
