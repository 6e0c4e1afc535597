import NocturneConcurrency
import NocturneCore

/// What to do when the disk is full.
public enum FullDiskPolicy: String, Sendable, CaseIterable {
    /// Wait for room; nothing fails for want of it.
    case pause
    /// Admit nothing more, and end the run so that it can be gone on with.
    case stop
}

/// The room on the disk of the output folder.
struct DiskRoom {
    let path: String
    let policy: FullDiskPolicy
    /// For journal, account and events.
    private static let spareBytes = 1 << 20

    /// Waits while the disk lacks room for so many bytes, or has just refused to write although it seemed to have room
    /// (quotas do that).
    /// - Parameter refusals: how often in a row it has refused.
    /// - Returns: false when the run is to stop instead.
    func wait(for bytes: Int, refusals: Int, _ control: RunControl, _ progress: ProgressReporter) async -> Bool {
        let wanted = bytes + DiskRoom.spareBytes
        let pause = refusals == 0 ? 0 : min(60, 1 << min(refusals - 1, 6))
        var waited = 0
        while control.mode == .running {
            let free = FileSystem.freeBytes(at: path) ?? .max
            if free >= wanted, waited >= pause {
                if waited > 0 { await progress.emit(BatchEvent(.disk, reason: "has room again")) }
                return true
            }
            if waited == 0 {
                let words = "is full: \(ByteCount(free)) are free, \(ByteCount(wanted)) may be needed"
                let next = policy == .stop ? "stopping" : "waiting for room"
                await progress.emit(BatchEvent(.disk, reason: words + "; " + next))
            }
            guard policy == .pause else {
                control.drain()
                return false
            }
            try? await Task.sleep(for: .seconds(1))
            waited += 1
        }
        return false
    }
}
