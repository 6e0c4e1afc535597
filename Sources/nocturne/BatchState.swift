import NocturneBatch
import NocturneCluster
import NocturneJournal
import NocturneSystem

/// The state of a batch at one moment, whole or divided, as `status` and `prom` show it.
struct BatchState {
    let lock: LockState
    let report: StatusReport
    let items: FileBackedList<JournalItem>
    /// Whether a run is active, on any shard.
    let isActive: Bool

    /// - Throws: `BatchError` for a folder without a batch; `JournalError`.
    static func read(_ folder: OutputFolder, newestFirst: Bool = false) async throws -> BatchState {
        let lock = BatchLock.state(of: folder)
        let divided = try await DividedBatch.read(folder)
        let contents: ExistingBatch.Contents
        if let divided {
            contents = ExistingBatch.Contents(items: divided.items, parts: divided.parts)
        } else {
            contents = try await ExistingBatch.contents(of: folder)
        }
        let isActive = lock.isHeld || divided?.shards.contains { $0.state == .running } ?? false
        // While shards are open, the journal of the batch lacks what they have done.
        let review = try await ExistingBatch.review(of: folder, contents.items, isActive: isActive || divided != nil)
        var report = StatusReport(folder, lock, contents, review, newestFirst: newestFirst, isActive: isActive)
        report.shards = divided?.shards.map(StatusReport.Shard.init)
        return BatchState(lock: lock, report: report, items: contents.items, isActive: isActive)
    }
}
