import Foundation
internal import GRDB
import NocturneSystem

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

    /// How many items of the batch have not ended and were not found: changed options or inputs leave them out.
    package func absentCount() throws(JournalError) -> Int {
        try read { db in
            let sql = "SELECT COUNT(*) FROM item WHERE state NOT IN ('completed', 'skipped') AND \(Self.absent)"
            return try Int.fetchOne(db, sql: sql) ?? 0
        }
    }

    /// Completed items that were not found, in the order of their ids.
    /// - Parameters:
    ///   - id: of the last one that was read before; 0 for none.
    ///   - limit: how many are read at most.
    package func absentResults(
        after id: Int64,
        limit: Int
    ) throws(JournalError) -> [(id: Int64, path: String, model: String, name: String)] {
        try read { db in
            let sql = """
                SELECT id, path, model, name FROM item WHERE state = 'completed' AND id > ? AND \(Self.absent)
                ORDER BY id LIMIT ?
                """
            return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id, limit])
                .map { ($0[0], $0[1], $0[2], $0[3]) }
        }
    }

    // MARK: Work

    /// Prepares ``pending(after:limit:)``.
    /// - Parameters:
    ///   - order: of processing.
    ///   - limit: how many items are processed at most; the others go on waiting.
    ///   - first: names of items that come before the others, in their order.
    /// - Returns: how many items are to be processed.
    package func beginWork(
        _ order: WorkOrder = .path,
        atMost limit: Int? = nil,
        first: [String] = []
    ) throws(JournalError) -> Int {
        if order != .path || limit != nil || !first.isEmpty { try putWork(in: order, first, atMost: limit) }
        return try read { db in try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM work WHERE action > 0") ?? 0 }
    }

    private func putWork(in order: WorkOrder, _ first: [String], atMost limit: Int?) throws(JournalError) {
        let columns = "found, item, action, isEdited, isNews"
        let early = """
            DROP TABLE IF EXISTS temp.early;
            CREATE TEMP TABLE early (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            """
        // Places are given in the order of insertion.
        let sql = """
            DROP TABLE IF EXISTS temp.ordered;
            CREATE TEMP TABLE ordered AS SELECT \(columns) FROM (
                SELECT w.*, ROW_NUMBER() OVER (ORDER BY f.model, w.place) AS number, e.number AS early
                FROM work w JOIN found f ON f.number = w.found LEFT JOIN item i ON i.id = w.item
                    LEFT JOIN early e ON e.name = i.name
                WHERE w.action > 0
            ) q ORDER BY early IS NULL, early, \(order.sql), place LIMIT \(limit ?? -1);
            DELETE FROM work WHERE action > 0;
            INSERT INTO work (\(columns)) SELECT \(columns) FROM ordered ORDER BY rowid;
            DROP TABLE ordered;
            DROP TABLE early;
            """
        try changeWithoutFlush(.journalRecord) { db in
            try db.execute(sql: early)
            for name in first {
                try db.execute(sql: "INSERT OR IGNORE INTO early (name) VALUES (?)", arguments: [name])
            }
            try db.execute(sql: sql)
        }
    }

    /// The next items to be processed: those that are processed alone first, then in the order of ``beginWork(_:atMost:first:)``.
    /// - Parameter last: that was read before; nil for none.
    /// - Returns: fewer than `limit` at the end.
    package func pending(after last: PendingItem?, limit: Int) throws(JournalError) -> [PendingItem] {
        try read { db in
            var items: [PendingItem] = []
            for action in [2, 1] where items.count < limit {
                let isOver = last.map { action == 2 && !$0.isAlone } ?? false
                guard !isOver else { continue }
                let place = last.map { ($0.isAlone ? 2 : 1) == action ? $0.place : 0 } ?? 0
                let rows = try Row.fetchAll(
                    db.cachedStatement(
                        sql: PendingItem.selection + " WHERE w.place > ? AND w.action = ? ORDER BY w.place LIMIT ?"
                    ),
                    arguments: [place, action, limit - items.count]
                )
                items += rows.map { PendingItem($0, isAlone: action == 2) }
            }
            return items
        }
    }

    /// Takes items out of their turn: ``pending(after:limit:)`` leaves them out from then on.
    /// - Parameters:
    ///   - names: of items. Those are left out that are not to be processed or were given before.
    ///   - last: that was given last; nil for none.
    package func takePending(_ names: [String], after last: PendingItem?) throws(JournalError) -> [PendingItem] {
        guard !names.isEmpty else { return [] }
        let action = last.map { $0.isAlone ? 2 : 1 } ?? 3
        var items: [PendingItem] = []
        try changeWithoutFlush(.journalRecord) { db in
            items = []
            let find = try db.cachedStatement(
                sql: PendingItem.selection
                    + " WHERE i.name = ? AND w.action IN (1, 2) AND (w.action < ? OR w.action = ? AND w.place > ?)"
            )
            let alone = try db.cachedStatement(sql: "SELECT action = 2 FROM work WHERE place = ?")
            let take = try db.cachedStatement(sql: "UPDATE work SET action = 3 WHERE place = ?")
            for name in names {
                guard let row = try Row.fetchOne(find, arguments: [name, action, action, last?.place ?? 0]) else {
                    continue
                }
                let place: Int64 = row[0]
                items.append(PendingItem(row, isAlone: try Bool.fetchOne(alone, arguments: [place]) ?? false))
                try take.execute(arguments: [place])
            }
        }
        return items
    }

    /// Those of some names that items have that are to be processed.
    /// - Parameter last: whether only those count that ``pending(after:limit:)`` has not given yet; nil for all.
    package func pendingNames(
        among names: [String],
        after last: PendingItem? = nil
    ) throws(JournalError) -> Set<String> {
        try read { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM item i JOIN found f ON f.key = i.key JOIN work w ON w.found = f.number
                        WHERE i.name = ? AND w.action IN (1, 2) AND (w.action < ? OR w.action = ? AND w.place > ?))
                    """
            )
            // Without a last one all actions are below.
            let action = last.map { $0.isAlone ? 2 : 1 } ?? 3
            return Set(
                try names.filter {
                    try Bool.fetchOne(statement, arguments: [$0, action, action, last?.place ?? 0]) ?? false
                }
            )
        }
    }

    /// The items about which something is to be reported after a place, in the order of discovery.
    package func news(after place: Int64, limit: Int) throws(JournalError) -> [(place: Int64, item: JournalItem)] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT \(JournalItem.columns), w.place FROM work w JOIN item ON item.id = w.item
                    WHERE w.place > ? AND w.isNews ORDER BY w.place LIMIT ?
                    """,
                arguments: [place, limit]
            )
            return try rows.map { (place: $0[13], item: try JournalItem($0)) }
        }
    }
}

/// An item that is to be processed. The journal has the rest of it.
package struct PendingItem: Sendable {
    /// In the order of discovery.
    package let place: Int64
    package let id: Int64
    /// The index of its recipe among the batch's.
    package let recipe: Int
    /// The id of its model.
    package let model: String
    package let name: String
    /// Active during a crash of the engine: processed first, and alone.
    package let isAlone: Bool
    /// A label map of a person that takes the place of the model's.
    package let edit: LabelEdit?
    /// The folder of an earlier result of the item, or of that of another batch; nil without one.
    package var earlierResult: String?

    fileprivate static let selection = """
        SELECT w.place, i.id, f.recipe, i.model, i.name, e.baseFingerprint, e.file, e.sha256, e.time
        FROM work w JOIN found f ON f.number = w.found JOIN item i ON i.id = w.item
            LEFT JOIN edit e ON w.isEdited AND e.item = i.name
        """

    /// One that is only known by its name.
    package init(id: Int64, name: String) {
        (self.id, self.name, place, recipe) = (id, name, 0, 0)
        (model, isAlone, edit) = ("", false, nil)
    }

    fileprivate init(_ row: Row, isAlone: Bool) {
        (place, id, recipe, model, name) = (row[0], row[1], row[2], row[3], row[4])
        self.isAlone = isAlone
        edit = LabelEdit(row, of: name, from: 5)
    }
}
