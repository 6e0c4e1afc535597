internal import GRDB
import NocturneSystem

/// The items that are to be processed, in their order.
extension Journal {
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
package struct PendingItem: Hashable, Sendable {
    /// In the order of discovery.
    package let place: Int64
    package let id: Int64
    /// The index of its recipe among the batch's.
    package let recipe: Int
    /// The id of its model.
    package let model: String
    /// Of its folder; requests name items by it.
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

    /// One of which only this is known.
    /// - Parameters:
    ///   - model: its id; empty for none.
    ///   - isAlone: whether it was active during a crash of the engine.
    package init(id: Int64, name: String, model: String = "", isAlone: Bool = false) {
        (self.id, self.name, self.model, self.isAlone) = (id, name, model, isAlone)
        (place, recipe, edit) = (0, 0, nil)
    }

    fileprivate init(_ row: Row, isAlone: Bool) {
        (place, id, recipe, model, name) = (row[0], row[1], row[2], row[3], row[4])
        self.isAlone = isAlone
        edit = LabelEdit(row, of: name, from: 5)
    }
}
