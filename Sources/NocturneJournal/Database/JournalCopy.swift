import Foundation
internal import GRDB
import Glibc
import NocturneSystem

/// A copy of a journal for somebody who only reads it.
///
/// SQLite creates files next to a database that it reads. That is impossible in a folder that cannot be written, such as an
/// archive or another user's results. And it would destroy the journal of a run on another machine, whose locks and shared
/// memory this machine does not see: whoever closes a database alone moves its log into it and removes the log.
struct JournalCopy {
    let path: String
    private let folder: String

    /// Whether the journal is in a folder that cannot be written.
    static func isNeeded(for journal: String) -> Bool {
        let parent = (journal as NSString).deletingLastPathComponent
        // `errno` is that of the second call. Other errors are left to the opening, which reports them.
        return access(journal, R_OK) == 0 && access(parent, W_OK) != 0 && [EROFS, EACCES].contains(errno)
    }

    /// - Throws: ``FileSystemError`` naming what cannot be copied.
    init(of journal: String) throws {
        folder = NSTemporaryDirectory() + "/nocturne-journal-\(UUID().uuidString)"
        path = folder + "/journal.sqlite"
        try FileSystem.makeFolder(folder)
        chmod(folder, 0o700)
        do {
            // Another user's run may be writing to it: the copy is repeated if that happened meanwhile.
            for _ in 0..<5 {
                // Five attempts: a reader must not wait for the end of a run that writes all the time.
                let before = JournalCopy.versions(journal)
                for suffix in ["", "-wal"] where FileSystem.exists(journal + suffix) {
                    try FileSystem.copy(journal + suffix, to: path + suffix, flush: false)
                }
                if JournalCopy.versions(journal) == before { break }
            }
        } catch {
            remove()
            throw error
        }
    }

    /// Sizes and times of modification of the database and its log.
    private static func versions(_ journal: String) -> [[Int]] {
        ["", "-wal"].map { suffix in
            var status = stat()
            guard stat(journal + suffix, &status) == 0 else { return [] }
            return [Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }
    }

    /// Removes the files. A process that has them open can still read them.
    func remove() { FileSystem.remove(folder) }

    /// Does the work of ``Journal/replaceFile(at:)``.
    static func replace(_ path: String) throws(JournalError) {
        guard FileSystem.exists(path) else { return }
        let copy = path + ".taken"
        do {
            for suffix in logSuffixes + ["", "-journal"] { FileSystem.remove(copy + suffix) }
            for suffix in ["", "-wal"] where FileSystem.exists(path + suffix) {
                try FileSystem.copy(path + suffix, to: copy + suffix)
            }
            try mergeLog(of: copy)
            // The old log holds nothing that the copy does not have, if this ends between the two steps.
            try FileSystem.move(copy, to: path)
            for suffix in logSuffixes {
                if let left = FileSystem.remove(path + suffix) { throw left }
            }
            try FileSystem.flush((path as NSString).deletingLastPathComponent)
        } catch {
            throw JournalError(error, opening: path)
        }
    }

    private static let logSuffixes = ["-wal", "-shm"]

    private static func mergeLog(of copy: String) throws {
        let queue = try DatabaseQueue(path: copy)
        defer { try? queue.close() }
        try queue.writeWithoutTransaction { db in
            // The pages are read before the old files go: a damaged copy must not take the place of the journal.
            let answer = try String.fetchOne(db, sql: "PRAGMA integrity_check")
            guard answer == "ok" else {
                throw JournalError(.failed, detail: "the journal is damaged: \(answer ?? "no answer")")
            }
            _ = try Row.fetchAll(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        try FileSystem.flush(copy)
    }
}
