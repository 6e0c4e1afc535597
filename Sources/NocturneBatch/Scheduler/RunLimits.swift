import Foundation
import NocturneConcurrency
import NocturneSystem

/// What a run is held to from its beginning to its end, also by engines that are started after a death and in later rounds:
/// what others take of the machine meanwhile is waited for and makes nothing fail, and the morning does not move.
struct RunLimits: Codable {
    /// Of the run; nil without one.
    private let supervisor: String?
    /// For everything, in bytes.
    let memoryBytes: Int
    /// To be done by, in seconds since 1970; nil for never, and for a watch, which has another one each day.
    private let deadline: Int?

    /// Those that an engine of this run has settled before, or new ones.
    /// - Throws: ``JournalError``.
    init(_ options: BatchOptions, _ journal: Journal) throws {
        if options.previousDeath != nil, options.supervisor != nil, let text = try journal.setting("limits"),
            let settled = try? JSONDecoder().decode(RunLimits.self, from: Data(text.utf8)),
            settled.supervisor == options.supervisor
        {
            self = settled
            return
        }
        supervisor = options.supervisor
        memoryBytes = options.memoryBytes ?? MemoryBudget.defaultTotal(MemoryReading.take())
        deadline = options.watch == nil ? options.hours.deadline(after: RunLimits.now) : nil
        if supervisor != nil {
            try journal.setSetting("limits", String(decoding: try JSONEncoder().encode(self), as: UTF8.self))
        }
    }

    /// When what is begun now is to be done.
    func deadline(_ hours: WorkingHours) -> ContinuousClock.Instant? {
        (deadline ?? hours.deadline(after: RunLimits.now)).map { .now + .seconds($0 - RunLimits.now) }
    }

    private static var now: Int { Int(Date().timeIntervalSince1970) }
}
