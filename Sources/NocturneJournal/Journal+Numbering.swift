internal import GRDB
import NocturneSystem

/// The order of a batch that has grown.
extension Journal {
    /// Numbers the items in the order of discovery, and those that were not found after them, as if all had joined the batch
    /// together: tables and reports list items by their ids. Nothing is written where they have this order. Before
    /// ``beginWork(_:atMost:first:)``.
    ///
    /// A column with the place was rejected: every reader in portions would need it in place of the id.
    package func numberAsFound() throws(JournalError) {
        let order = """
            item i LEFT JOIN (SELECT item, MIN(place) AS place FROM work GROUP BY item) w ON w.item = i.id
            """
        let sorted = "OVER (ORDER BY w.place IS NULL, w.place, i.id)"
        let isSorted = try read { db in
            let sql = "SELECT 1 FROM (SELECT id, LAG(id) \(sorted) AS before FROM \(order)) WHERE before > id LIMIT 1"
            return try Int.fetchOne(db, sql: sql) == nil
        }
        if isSorted { return }
        try change(.journalSettle) { db in
            try Journal.markReportOld(db)
            // Asked of the schema: a later migration may add a table that refers to items.
            let children = try String.fetchAll(
                db,
                sql: """
                    SELECT m.name FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
                    WHERE m.type = 'table' AND f."table" = 'item'
                    """
            )
            let columns = children.map { (table: $0, id: "item") } + [("item", "id"), ("work", "item")]
            try db.execute(
                sql: """
                    PRAGMA defer_foreign_keys = ON;
                    CREATE TEMP TABLE numbering (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
                    INSERT INTO numbering SELECT i.id, ROW_NUMBER() \(sorted) FROM \(order);
                    """
            )
            // Negative first, since a number may still belong to another item.
            for (table, id) in columns {
                let number = "(SELECT -number FROM numbering n WHERE n.id = \(table).\(id))"
                try db.execute(sql: "UPDATE \(table) SET \(id) = \(number)")
            }
            for (table, id) in columns { try db.execute(sql: "UPDATE \(table) SET \(id) = -\(id)") }
            try db.execute(sql: "DROP TABLE numbering")
        }
    }
}
