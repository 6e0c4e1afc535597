import Foundation
internal import GRDB
package import NocturneSystem

/// What becomes of the items that were found.
extension Journal {
    /// Records what was decided about some candidates, in one transaction that is durable when it returns.
    package func perform(_ actions: [CandidateAction], at time: String) throws(JournalError) {
        guard !actions.isEmpty else { return }
        let changesItems = actions.contains { $0.entry != nil || $0.finished != nil }
        func body(_ db: Database) throws {
            if changesItems { try Journal.markReportOld(db) }
            let writer = try ItemWriter(db)
            let work = try db.cachedStatement(
                sql: """
                    UPDATE work SET action = ?, isEdited = ?, isNews = ?, item = (
                        SELECT i.id FROM found f JOIN item i ON i.key = f.key WHERE f.number = work.found
                    ) WHERE place = ?
                    """
            )
            for action in actions {
                if let entry = action.entry { try writer.write(entry, foundAt: action.place) }
                if let edit = action.edit { try TableRow(edit).insert(db) }
                let code = action.isProcessed ? action.isAlone ? 2 : 1 : 0
                try work.execute(arguments: [code, action.edit != nil, action.isNews, action.place])
            }
            for action in actions {
                guard let product = action.finished else { continue }
                let id = try Int64.fetchOne(
                    db.cachedStatement(sql: "SELECT item FROM work WHERE place = ?"),
                    arguments: [action.place]
                )
                if let id { try Journal.complete(id, product, at: time, db) }
            }
        }
        if changesItems { try change(.journalRecord, body) } else { try changeWithoutFlush(.journalRecord, body) }
    }

    // MARK: Items that were not found

    /// Whether there are items that were not found.
    private static let absent = "NOT EXISTS (SELECT 1 FROM found WHERE found.key = item.key)"

    /// Whether all files of an item are now files of items of its model that were found: a time series that has become shorter, or a
    /// series that another acquisition has joined. Only after ``findTakenFiles()``.
    private static let isReplaced = """
        EXISTS (SELECT 1 FROM input p WHERE p.item = item.id) AND NOT EXISTS (
            SELECT 1 FROM input p WHERE p.item = item.id AND NOT EXISTS (
                SELECT 1 FROM taken t WHERE t.model = item.model AND t.base = item.path AND t.path = p.path
            )
        )
        """

    /// Collects the files of found items in the places of items that were not found: a folder of DICOM files may have thousands of
    /// series, and each file of each would be searched among all of them. Once after the search, before ``setAsideAbsent`` and
    /// ``absentResults(after:limit:)``.
    package func findTakenFiles() throws(JournalError) {
        try found.execute(
            """
            DELETE FROM taken;
            INSERT OR IGNORE INTO taken (model, base, path)
                SELECT f.model, f.path, q.path FROM found f JOIN foundInput q ON q.found = f.number
                WHERE f.problem IS NULL
                    AND f.path IN (SELECT item.path FROM item WHERE item.state <> 'skipped' AND \(Self.absent))
            """
        )
    }

    /// Sets aside items that were not found, and that are no longer what they were: folders that can be read again, and files
    /// that are now part of another item.
    /// - Parameter all: whether all that have no result are set aside, since the batch continues with other inputs or options.
    package func setAsideAbsent(
        all: Bool,
        opened: ItemReason,
        partOfOther: ItemReason,
        vanished: ItemReason,
        at time: String
    ) throws(JournalError) {
        let missed = "SUBSTR(key, 1, \(DiscoveredItem.missedKeyPrefix.count)) = '\(DiscoveredItem.missedKeyPrefix)'"
        let file = "SUBSTR(key, 1, \(DiscoveredItem.fileKeyPrefix.count)) = '\(DiscoveredItem.fileKeyPrefix)'"
        let isPart = """
            path IN (
                SELECT CASE WHEN p.path = '' THEN f.path WHEN SUBSTR(p.path, 1, 2) = './' THEN f.path || SUBSTR(p.path, 2)
                    ELSE p.path END
                FROM foundInput p JOIN found f ON f.number = p.found WHERE f.problem IS NULL
            )
            """
        var rules = [
            ("\(missed) AND state NOT IN ('skipped', 'completed') AND \(Self.absent)", opened),
            ("\(file) AND state = 'failed' AND \(Self.absent) AND \(isPart)", partOfOther),
            ("state NOT IN ('completed', 'skipped') AND \(Self.absent) AND \(Self.isReplaced)", partOfOther),
        ]
        if all {
            // What was set aside for such a reason keeps its own.
            let isSetAside = "state = 'skipped' AND code IS '\(vanished.code.rawValue)'"
            rules.append(("state <> 'completed' AND NOT (\(isSetAside)) AND \(Self.absent)", vanished))
        }
        for (condition, reason) in rules {
            let isAny = try read { db in
                try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM item WHERE \(condition))") ?? false
            }
            guard isAny else { continue }
            try change(.journalSettle) { db in
                try Journal.markReportOld(db)
                try db.execute(
                    sql: """
                        UPDATE item SET state = 'skipped', reason = ?, code = ?, stage = ?, changed = ? WHERE \(condition)
                        """,
                    arguments: [reason.sentence.column, reason.code.rawValue, reason.stage, time]
                )
            }
        }
    }

    /// The items of the batch that have no result, are not skipped and were not found: their sources no longer exist, or changed
    /// options or inputs leave them out.
    package func absentItems() throws(JournalError) -> FirstNames {
        try read { db in
            let sql = "SELECT name FROM item WHERE state NOT IN ('completed', 'skipped') AND \(Self.absent) ORDER BY id"
            let names = try String.fetchCursor(db, sql: sql)
            var absent = FirstNames()
            while let name = try names.next() { absent.add(name) }
            return absent
        }
    }

    /// Completed items that were not found, in the order of their ids.
    /// - Parameters:
    ///   - id: of the last one that was read before; 0 for none.
    ///   - limit: how many are read at most.
    package func absentResults(
        after id: Int64,
        limit: Int
    ) throws(JournalError) -> [AbsentResult] {
        try read { db in
            let sql = """
                SELECT id, path, model, name, \(Self.isReplaced),
                    (SELECT p.path FROM input p WHERE p.item = item.id ORDER BY p.number LIMIT 1) FROM item
                WHERE state = 'completed' AND id > ? AND \(Self.absent) ORDER BY id LIMIT ?
                """
            return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id, limit]).map { row in
                let (path, first): (String, String?) = (row[1], row[5])
                return AbsentResult(
                    id: row[0],
                    path: path,
                    firstFile: first.map { InputStamp.path($0, at: path) } ?? path,
                    model: row[2],
                    name: row[3],
                    isReplaced: row[4]
                )
            }
        }
    }
}

/// A completed item that was not found.
package struct AbsentResult: Sendable {
    package let id: Int64
    /// The input as the user knows it.
    package let path: String
    /// The first one of its source files: the path of a series is its folder.
    package let firstFile: String
    /// The id of its model.
    package let model: String
    package let name: String
    /// Whether all its files are now files of other items.
    package let isReplaced: Bool

    /// - Parameters:
    ///   - id: in the journal.
    ///   - path: the input as the user knows it.
    ///   - firstFile: the first one of its source files.
    ///   - model: the id of its model.
    ///   - name: of its folder.
    ///   - isReplaced: whether all its files are now files of other items.
    package init(id: Int64, path: String, firstFile: String, model: String, name: String, isReplaced: Bool) {
        (self.id, self.path, self.firstFile) = (id, path, firstFile)
        (self.model, self.name, self.isReplaced) = (model, name, isReplaced)
    }
}
