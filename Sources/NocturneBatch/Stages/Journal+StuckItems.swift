import Dispatch
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// What is recorded before the process is ended because some items cannot be stopped.
extension Journal {
    /// Items that exceeded their time have failed; those that are to be tried alone stay active; all other active items only
    /// ran at the same time, and wait again. Files whose reading does not end are not to be opened by the next engine.
    ///
    /// Every step is tried even if one before it fails: the process ends in any case.
    func recordStuckItems(_ stuck: [StallDetector.Stuck], at time: String) {
        let ids = Set(stuck.map(\.id))
        let others = ((try? items(in: .started)) ?? []).map(\.id).filter { !ids.contains($0) }
        for late in stuck where late.isLate { try? settle([late.id], as: .failed, reason: late.reason, at: time) }
        let paths = stuck.compactMap(\.path)
        try? changeCrashes { $0.unresponsiveFiles += paths }
        try? settle(
            others,
            as: .pending,
            reason: ItemReason(.interrupted, "interrupted: another item was stuck"),
            at: time
        )
    }
}

/// Records stuck items and waits for it, but only five seconds: the disk may be what hangs. For the detector's own thread, which
/// then ends the process.
func recordStuckItems(_ stuck: [StallDetector.Stuck], in journal: Journal, at time: String) {
    let isRecorded = DispatchSemaphore(value: 0)
    Task {
        await journal.recordStuckItems(stuck, at: time)
        isRecorded.signal()
    }
    _ = isRecorded.wait(timeout: .now() + .seconds(5))
}
