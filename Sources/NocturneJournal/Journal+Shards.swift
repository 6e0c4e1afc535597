internal import GRDB
import NocturneSystem

/// Items of a batch that is divided into shards, each of which has its own journal.
extension Journal {
    /// Some items with all that was found of them, after one in the order of discovery.
    /// - Parameters:
    ///   - id: of the last item that was read; 0 for none.
    ///   - limit: how many at most.
    /// - Returns: none when there are no more; the id of the last one.
    public func entries(after id: Int64, limit: Int) throws(JournalError) -> (entries: [JournalEntry], last: Int64) {
        try read { db in
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT \(JournalItem.columns), source, recipe FROM item WHERE id > ? ORDER BY id LIMIT ?
                        """
                ),
                arguments: [id, limit]
            )
            var (entries, last, bytes): ([JournalEntry], Int64, Int) = ([], id, 0)
            while bytes < FoundTable.bytesAtOnce, let row = try rows.next() {
                let entry = try JournalEntry(row, db)
                (last, bytes) = (row[0], bytes + entry.item.bytes)
                entries.append(entry)
            }
            return (entries, last)
        }
    }

    /// Some of the items that a plan in this journal divides, after a place in the order of discovery.
    /// - Returns: none when there are no more; the place of the last one.
    package func dividedEntries(
        after place: Int64,
        limit: Int
    ) throws(JournalError) -> (entries: [JournalEntry], last: Int64) {
        try read { db in
            let rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT \(JournalItem.columns), item.source, item.recipe, d.place
                        FROM division d JOIN work w ON w.place = d.place JOIN item ON item.id = w.item
                        WHERE d.place > ? ORDER BY d.place LIMIT ?
                        """
                ),
                arguments: [place, limit]
            )
            return (try rows.map { try JournalEntry($0, db) }, rows.last?["place"] ?? place)
        }
    }

    /// Adds items with all that was found of them to another journal, which has none. After an error that journal is damaged and
    /// is to be removed.
    ///
    /// SQLite copies the rows: read and written one by one, the source files of a million would take several times as long.
    /// - Parameters:
    ///   - shard: whose items are copied, in the order of discovery, as a plan in this journal has divided them; nil for all items.
    ///   - path: of the other journal, which nobody has open.
    package func copyItems(of shard: Int? = nil, to path: String) throws(JournalError) {
        guard isOwn() else { throw .abandoned }
        do {
            try FaultPoint.journalRecord.pass()
            try queue.writeWithoutTransaction { db in
                // Before the file is attached, which opens it: then it needs no shared memory, which not every share has.
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                defer { try? db.execute(sql: "PRAGMA locking_mode = NORMAL") }
                try db.execute(sql: "ATTACH ? AS other", arguments: [path])
                defer { try? db.execute(sql: "DETACH other") }
                // A log would take the space of all rows once more, and a full disk could show only when it is moved into the
                // file, where SQLite reports nothing.
                try db.execute(sql: "PRAGMA other.journal_mode = OFF")
                try db.inTransaction(.deferred) {
                    try Self.copyItems(of: shard, db)
                    return .commit
                }
            }
        } catch {
            throw JournalError(error)
        }
    }

    /// Copies to the attached database `other`.
    private static func copyItems(of shard: Int?, _ db: Database) throws {
        try db.execute(sql: "CREATE TEMP TABLE chosen (number INTEGER PRIMARY KEY, item INTEGER NOT NULL)")
        if let shard {
            let sql = """
                INSERT INTO chosen (item) SELECT w.item FROM division d JOIN work w ON w.place = d.place
                WHERE d.shard = ? AND w.item IS NOT NULL ORDER BY d.place
                """
            try db.execute(sql: sql, arguments: [shard])
        } else {
            try db.execute(sql: "INSERT INTO chosen (item) SELECT id FROM item ORDER BY id")
        }
        let (own, inputs) = (
            "key, name, foldedName, recipe, model, source, path, fingerprint, words, state, reason, code, stage, crashes",
            "number, path, size, seconds, nanoseconds, touched"
        )
        func qualified(_ columns: String, _ table: String) -> String {
            columns.split(separator: ", ").map { "\(table).\($0)" }.joined(separator: ", ")
        }
        try db.execute(
            sql: """
                INSERT INTO other.item (id, \(own)) SELECT c.number, \(qualified(own, "i"))
                FROM chosen c JOIN main.item i ON i.id = c.item ORDER BY c.number;
                INSERT INTO other.input (item, \(inputs)) SELECT c.number, \(qualified(inputs, "p"))
                FROM chosen c JOIN main.input p ON p.item = c.item ORDER BY c.number, p.number;
                """
        )
        // By name: they survive when an item is found again.
        for table in ["edit", "mark", "text"] {
            try db.execute(
                sql: """
                    INSERT INTO other.\(table) SELECT e.*
                    FROM chosen c JOIN main.item i ON i.id = c.item JOIN main.\(table) e ON e.item = i.name
                    """
            )
        }
        try db.execute(sql: "DROP TABLE chosen")
    }

    /// Takes over how some items of a shard stand, in one transaction: those that wait, and what is recorded already, are not
    /// changed.
    /// - Returns: the number of items that changed.
    @discardableResult
    public func merge(_ records: [ItemRecord]) throws(JournalError) -> Int {
        var changed = 0
        try change(.journalRecord) { db in
            let find = try db.cachedStatement(sql: "SELECT id FROM item WHERE key = ?")
            // IS NOT takes NULL for a value. With <>, a new reason where there was none would not count.
            let update = try db.cachedStatement(
                sql: """
                    UPDATE item SET state = :state, reason = :reason, code = :code, stage = :stage, crashes = :crashes,
                        changed = :changed, fingerprint = :fingerprint
                    WHERE id = :id AND (state, fingerprint, changed, reason)
                        IS NOT (:state, :fingerprint, :changed, :reason)
                    """
            )
            for record in records where ![.pending, .started].contains(record.item.state) {
                let item = record.item
                guard let id = try Int64.fetchOne(find, arguments: [item.key]) else { continue }
                try update.execute(arguments: [
                    "id": id, "state": item.state.rawValue, "reason": item.reason?.sentence.column,
                    "code": item.reason?.code.rawValue, "stage": item.reason?.stage, "crashes": item.crashes,
                    "changed": item.changed, "fingerprint": item.fingerprint,
                ])
                guard db.changesCount > 0 else { continue }
                // Merging again is usual: rewriting results that did not change would take most of its time.
                try ResultTables(db).write(record.written, of: id)
                changed += 1
            }
            if changed > 0 { try Journal.markReportOld(db) }
        }
        return changed
    }
}
