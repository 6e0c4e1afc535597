import Foundation
internal import GRDB
import NocturneSystem

extension Journal {
    /// Puts a copy of the journal in its place, and removes the old files.
    ///
    /// For a folder that is taken over from a run of another machine that was silent for too long. If that run comes back, it
    /// writes into files that no longer have a name, and never into those of this run, however late its system writes what
    /// it had in memory. Nothing is done where there is no journal yet.
    /// - Throws: ``JournalError`` when the copy cannot be made, or is damaged; the old files are then as they were.
    public static func replaceFile(at path: String) async throws {
        let executor = JournalExecutor()
        try await executor.perform { try Journal.replace(path) }
    }

    private static func replace(_ path: String) throws(JournalError) {
        guard FileSystem.exists(path) else { return }
        let copy = path + ".taken"
        do {
            for suffix in logSuffixes + [""] { FileSystem.remove(copy + suffix) }
            for suffix in ["", "-wal"] where FileSystem.exists(path + suffix) {
                try FileSystem.copy(path + suffix, to: copy + suffix)
            }
            try mergeLog(of: copy)
            // The old log holds nothing that the copy does not have, if this ends between the two steps.
            try FileSystem.move(copy, to: path)
            for suffix in logSuffixes { FileSystem.remove(path + suffix) }
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
