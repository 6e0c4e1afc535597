import Foundation
internal import GRDB

/// Bytes under keys, in a temporary database that SQLite keeps in a file as soon as it outgrows its cache: for what there may be
/// a million of.
///
/// ```swift
/// let rows = try TemporaryRows()
/// try rows.add([(key: "b", bytes: second), (key: "a", bytes: first)])
/// try rows.forEach { line in try file.write(line) }  // first, then second
/// ```
///
/// Calls from several threads wait for each other. The file is gone when the object is released.
public final class TemporaryRows: Sendable {
    private let queue: DatabaseQueue

    /// - Throws: ``JournalError``.
    public init() throws(JournalError) {
        do {
            queue = try DatabaseQueue(path: "")
            try queue.writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = OFF;
                        CREATE TABLE line (number INTEGER PRIMARY KEY, key TEXT NOT NULL, bytes BLOB NOT NULL);
                        """
                )
            }
        } catch {
            throw JournalError(error)
        }
    }

    /// Adds rows in one transaction. They are written to a file only when they outgrow the cache.
    public func add(_ rows: some Sequence<(key: String, bytes: [UInt8])>) throws(JournalError) {
        do {
            try queue.write { db in
                let insert = try db.cachedStatement(sql: "INSERT INTO line (key, bytes) VALUES (?, ?)")
                for (key, bytes) in rows { try insert.execute(arguments: [key, Data(bytes)]) }
            }
        } catch {
            throw JournalError(error)
        }
    }

    /// Calls `body` with all rows in ascending order of their keys; those with equal ones in the order in which they were added.
    public func forEach(_ body: ([UInt8]) throws -> Void) throws {
        try queue.read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT bytes FROM line ORDER BY key, number")
            while let row = try rows.next() { try body([UInt8](row[0] as Data)) }
        }
    }

    /// The rows with a key, in the order in which they were added.
    public func rows(of key: String) throws(JournalError) -> [[UInt8]] {
        do {
            return try queue.writeWithoutTransaction { db in
                // Made by the first search: rows that are only added and sorted need none.
                try db.execute(sql: "CREATE INDEX IF NOT EXISTS byKey ON line (key, number)")
                let sql = "SELECT bytes FROM line WHERE key = ? ORDER BY number"
                return try Data.fetchAll(db.cachedStatement(sql: sql), arguments: [key]).map { [UInt8]($0) }
            }
        } catch {
            throw JournalError(error)
        }
    }
}
