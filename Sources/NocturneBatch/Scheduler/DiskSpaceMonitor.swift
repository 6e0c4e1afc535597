import CPosix
import NocturneConcurrency
import NocturneCore
import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// What to do when the disk is full.
public enum FullDiskPolicy: String, Sendable, CaseIterable {
    /// Wait for room; nothing fails for want of it.
    case pause
    /// Admit nothing more, and end the run so that it can be gone on with.
    case stop
}

/// The room on the disk of the output folder.
struct DiskSpaceMonitor: Sendable {
    let path: String
    let policy: FullDiskPolicy
    /// For journal, account and events.
    static let spareBytes = 1 << 20
    /// Files that an attempt makes: an item has a few.
    private static let triedFiles = 8

    /// Waits while the disk lacks room for so many bytes, or has just refused to write although it seemed to have room
    /// (quotas do that, and file systems that can hold no more files).
    /// - Parameter refusals: how often in a row it has refused. From then on an attempt has to succeed, not a figure.
    /// - Returns: false when the run is to stop instead.
    func wait(for bytes: Int, refusals: Int, _ control: RunControl, _ progress: ProgressReporter) async -> Bool {
        let wanted = bytes + DiskSpaceMonitor.spareBytes
        // An attempt can be mistaken, too: then each one costs more patience.
        let pause = refusals == 0 ? 0 : min(60, 1 << min(refusals - 1, 6))
        var waited = 0
        defer { control.waits(for: nil) }
        while control.mode == .running {
            let free = FileSystem.freeBytes(at: path) ?? .max
            let refused = refusals > 0 && free >= wanted ? refusal(of: wanted) : nil
            if free >= wanted, refused == nil, waited >= pause {
                if waited > 0 { await progress.emit(BatchEvent(.disk, reason: "has room again")) }
                return true
            }
            if waited == 0 {
                let words = words(free: free, wanted: wanted, refused: refused)
                control.waits(for: "room on the disk, which " + words)
                await progress.emit(
                    BatchEvent(.disk, reason: words + (policy == .stop ? "; stopping" : "; waiting for room"))
                )
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

    private func words(free: Int, wanted: Int, refused: Int32?) -> String {
        if free < wanted { return "is full: \(ByteCount(free)) are free, \(ByteCount(wanted)) may be needed" }
        if refused == EDQUOT { return "has reached a quota: \(ByteCount(wanted)) may be needed" }
        if let files = FileSystem.freeFiles(at: path), files < DiskSpaceMonitor.triedFiles {
            return "is full: \(files) more files can be made, though \(ByteCount(free)) are free"
        }
        return "has refused to write, though \(ByteCount(free)) are free"
    }

    /// Does what writes to the disk. Where it fails and the disk is full, that is waited for, and it is done again.
    /// - Throws: what `body` threw when the disk is not full; ``BatchError`` with `outputFull` when the run is to stop.
    func whenThereIsRoom<Result>(
        _ control: RunControl,
        _ progress: ProgressReporter,
        _ body: () async throws -> Result
    ) async throws -> Result {
        var refusals = 0
        while true {
            do {
                return try await body()
            } catch {
                // The words of the system are believed for a while even where an attempt succeeds: quotas move.
                let told =
                    refusals < 5 ? (error as? any SystemCallError)?.systemCode.flatMap(DiskSpaceMonitor.outOfRoom) : nil
                guard control.mode == .running, let code = refusal(of: DiskSpaceMonitor.spareBytes) ?? told else {
                    throw error
                }
                refusals += 1
                guard await wait(for: 0, refusals: refusals, control, progress) else {
                    throw BatchError(.outputFull, path: path, detail: "the disk is full: \(errnoText(code))")
                }
            }
        }
    }

    /// Tries to make files with so many bytes in all, and takes them away again.
    /// - Returns: the system's code when there is no room for them; nil also where it cannot be tried.
    func refusal(of bytes: Int) -> Int32? {
        let folder = nearestFolder() + "/.nocturne-room-\(getpid())"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else { return DiskSpaceMonitor.outOfRoom(errno) }
        defer { FileSystem.remove(folder) }
        for index in 0..<DiskSpaceMonitor.triedFiles {
            let descriptor = open("\(folder)/\(index)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return DiskSpaceMonitor.outOfRoom(errno) }
            defer { close(descriptor) }
            // Not posix_fallocate, which writes all the bytes where the file system cannot set them apart.
            if index == 0, let code = DiskSpaceMonitor.outOfRoom(cposix_fallocate(descriptor, Int64(bytes))) {
                return code
            }
        }
        return nil
    }

    private static func outOfRoom(_ code: Int32) -> Int32? { code == ENOSPC || code == EDQUOT ? code : nil }

    /// The output's hidden folder, the output, or the nearest folder above that is there.
    private func nearestFolder() -> String {
        let hidden = OutputFolder(path).hidden
        if FileSystem.exists(hidden) { return hidden }
        var folder = path
        while !FileSystem.exists(folder), let slash = folder.lastIndex(of: "/"), slash > folder.startIndex {
            folder = String(folder[..<slash])
        }
        return folder
    }
}
