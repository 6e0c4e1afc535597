internal import GRDB

/// Names for found items that differ from each other: which ones are equal is found out here, which parts of paths become part
/// of a name is decided by the caller.
extension FoundTable {
    /// Whether an item was found that the journal does not have.
    package func hasNew() throws(JournalError) -> Bool {
        try use { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM found WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.key = found.key))
                    """
            ) ?? false
        }
    }

    /// Notes the preferred name of each item.
    /// - Parameter names: of an item: its name, and that name without what the search has appended.
    package func nameAll(_ names: (_ name: String, _ suffix: String) -> (name: String, stem: String)) throws {
        try forEachPortion(number: { (row: Row) in row[0] }) { (rows: [Row]) in
            try change { db in
                let sql = "INSERT INTO naming (place, key, name, folded, stem) VALUES (?, ?, ?, ?, ?)"
                let insert = try db.cachedStatement(sql: sql)
                for row in rows {
                    let own = names(row[2], row[3])
                    try insert.execute(arguments: [
                        row[0] as Int64, row[1] as String, own.name, JournalSchema.fold(own.name),
                        JournalSchema.fold(own.stem),
                    ])
                }
            }
        } read: { last in
            try use { db in
                let sql = """
                    SELECT w.place, f.key, f.name, f.suffix FROM work w JOIN found f ON f.number = w.found
                    WHERE w.place > ? ORDER BY w.place LIMIT ?
                    """
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
            }
        }
        // The item that keeps a name comes first.
        try execute("CREATE INDEX temp.namingName ON naming (folded, isQualified, key)")
    }

    /// Gives other names to the items whose name several would have, and to all others with the stem of such a name.
    /// - Parameter other: made of the name that was found, and the path; nil where an item keeps the name that it has.
    package func renameRepeated(
        _ other: (_ name: String, _ path: String, _ words: [String]) throws -> String?
    ) throws {
        try execute(
            """
            DELETE FROM repeated;
            INSERT INTO repeated (stem) SELECT DISTINCT stem FROM naming WHERE folded IN (
                SELECT folded FROM naming GROUP BY folded HAVING COUNT(*) > 1
            );
            """
        )
        try forEachPortion(number: { (row: Row) in row[0] }) { (rows: [Row]) in
            let names = try rows.map { row in try other(row[1], row[2], String.words(row[3])) }
            try change { db in
                let sql = "UPDATE naming SET name = ?, folded = ?, isQualified = 1 WHERE place = ?"
                let update = try db.cachedStatement(sql: sql)
                for (row, name) in zip(rows, names) {
                    guard let name else { continue }
                    try update.execute(arguments: [name, JournalSchema.fold(name), row[0] as Int64])
                }
            }
        } read: { last in
            try use { db in
                let sql = """
                    SELECT n.place, f.name, f.path, f.words FROM naming n
                    JOIN work w ON w.place = n.place JOIN found f ON f.number = w.found
                    WHERE n.place > ? AND n.stem IN (SELECT stem FROM repeated) ORDER BY n.place LIMIT ?
                    """
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
            }
        }
    }

    // MARK: Giving names

    /// Whether another item is to be called so.
    package func isRepeated(_ name: String) throws(JournalError) -> Bool {
        try use { db in
            let sql = "SELECT COUNT(*) FROM (SELECT 1 FROM naming WHERE folded = ? LIMIT 2)"
            let count = try Int.fetchOne(db.cachedStatement(sql: sql), arguments: [JournalSchema.fold(name)])
            return (count ?? 0) > 1
        }
    }

    /// Whether an item is to be called so.
    package func isWanted(_ name: String) throws(JournalError) -> Bool {
        try use { db in
            let sql = "SELECT EXISTS (SELECT 1 FROM naming WHERE folded = ?)"
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [JournalSchema.fold(name)]) ?? false
        }
    }

    /// Whether an item of the journal is called so.
    package func isRecorded(_ name: String) throws(JournalError) -> Bool {
        try use { db in
            let sql = "SELECT EXISTS (SELECT 1 FROM item WHERE foldedName = ?)"
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [JournalSchema.fold(name)]) ?? false
        }
    }

    /// The id of the item of the journal with exactly this name; nil for none.
    package func recordedItem(named name: String) throws(JournalError) -> Int64? {
        try use { db in
            let statement = try db.cachedStatement(sql: "SELECT id FROM item WHERE name = ?")
            return try Int64.fetchOne(statement, arguments: [name])
        }
    }

    /// The good items that are to be called exactly so.
    package func items(called name: String) throws(JournalError) -> [DiscoveredItem] {
        try use { db in
            let sql = """
                SELECT \(Self.columns) FROM naming n
                JOIN work w ON w.place = n.place JOIN found f ON f.number = w.found
                WHERE n.folded = ? AND n.name = ? AND f.problem IS NULL
                """
            return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [JournalSchema.fold(name), name])
                .map { try DiscoveredItem($0, db) }
        }
    }
}
