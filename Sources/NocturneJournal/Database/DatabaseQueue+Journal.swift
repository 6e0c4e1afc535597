import Foundation
internal import GRDB
import Glibc
import NocturneSystem

/// How the database of a journal is opened.
extension DatabaseQueue {
    /// SQLite makes a file for a database without a name, and removes it.
    static func temporaryJournal() throws(JournalError) -> DatabaseQueue {
        do {
            let queue = try DatabaseQueue(path: "", configuration: configuration(isAlone: false))
            try JournalSchema.migrate(queue, path: "the temporary journal")
            return queue
        } catch {
            throw JournalError(error, opening: "the temporary journal")
        }
    }

    /// Opens or creates the file of a journal.
    /// - Parameters:
    ///   - isOnShare: whether the file is on a share; nil to look.
    ///   - isCopied: whether a copy is opened, as where nothing can be written.
    static func journal(
        at path: String,
        isOnShare: Bool? = nil,
        isCopied: Bool = false,
        lockPatience: @escaping @Sendable (_ waited: Duration) -> Bool
    ) throws(JournalError) -> DatabaseQueue {
        do {
            // The order matters: links, folders and pipes are refused before anything is opened, and the file with the
            // pages before a change is checked before SQLite sees it.
            try FaultPoint.journalOpen.pass()
            try checkKinds(of: path)
            let copy = try isCopied || JournalCopy.isNeeded(for: path) ? JournalCopy(of: path) : nil
            defer { copy?.remove() }
            try checkRollback(of: copy?.path ?? path)
            // SQLite creates the log next to it with the same permissions: both are for their owner alone.
            if copy == nil { FileSystem.touch(path, mode: 0o600) }
            let isShared = isOnShare ?? !FileSystem.isLocal((path as NSString).deletingLastPathComponent)
            var configuration = configuration(isAlone: isShared && copy == nil)
            configuration.busyMode = .callback { attempts in
                // SQLite passes how often it has asked: every call waits one interval.
                guard lockPatience(lockInterval * attempts) else { return false }
                // SQLite has nothing to wait for but the time.
                usleep(UInt32(lockInterval / .microseconds(1)))
                return true
            }
            let queue = try DatabaseQueue(path: copy?.path ?? path, configuration: configuration)
            try setLog(of: queue, lockPatience)
            try JournalSchema.migrate(queue, path: path)
            return queue
        } catch {
            throw JournalError(error, opening: path)
        }
    }

    /// SQLite follows links, waits for pipes, and reports a folder in place of a file without its name.
    /// - Throws: ``JournalError`` for the first of the files that is not one.
    private static func checkKinds(of path: String) throws(JournalError) {
        for file in ["", "-wal", "-shm", "-journal"].map({ path + $0 }) {
            let kind = FileSystem.kind(file)
            guard kind == .folder || kind == .other else { continue }
            let fact = kind == .folder ? "a folder" : "a link, pipe, socket or device"
            throw JournalError(unusable: file, because: "is \(fact), where a file of the journal belongs")
        }
    }

    /// Next to a database SQLite looks for a file with the pages before an interrupted change. In transactions that write several
    /// databases, which this program never makes, its end names a further file, which SQLite removes afterwards: whoever hands a
    /// journal on could have any file removed. Source: `readSuperJournal` and `pager_delsuper` in SQLite's pager.c.
    /// - Throws: ``JournalError`` for such a file; `FileSystemError`.
    private static func checkRollback(of path: String) throws {
        let file = path + "-journal"
        let mark: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        guard let size = FileSystem.size(file), size >= mark.count,
            try FileDescriptor(reading: file).read(count: mark.count, at: size - mark.count) == mark
        else { return }
        let detail =
            "\(file) names another file, which SQLite would remove: it was made by another program. Nothing was changed. Start the "
            + "batch in another output folder"
        throw JournalError(.damaged, detail: detail)
    }

    /// Set after opening: GRDB's own set-up would change it back. Of two processes that change the mode of a new database at the same time,
    /// SQLite refuses one without asking the busy handler: it is tried again.
    private static func setLog(of queue: DatabaseQueue, _ lockPatience: (_ waited: Duration) -> Bool) throws {
        let start = SuspendingClock.now
        while true {
            do {
                return try queue.writeWithoutTransaction { db in
                    // With FULL the log is flushed at the end of every transaction; with NORMAL only before it is
                    // moved into the database.
                    try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
                }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                guard lockPatience(SuspendingClock.now - start) else { throw error }
                usleep(UInt32(lockInterval / .microseconds(1)))
            }
        }
    }

    private static var lockInterval: Duration { .milliseconds(50) }

    /// The cache is bounded: there may be a million items.
    private static func configuration(isAlone: Bool) -> Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // Before the first access: then the log has no index in shared memory.
            // SQLite documents this in "Use of WAL Without Shared-Memory".
            if isAlone { try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
            // A negative size is in KiB: 8 MiB, whatever the size of a page.
            try db.execute(sql: "PRAGMA cache_size = -8192; PRAGMA temp_store = FILE")
        }
        return configuration
    }
}
