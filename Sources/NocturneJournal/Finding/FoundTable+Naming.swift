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
    package func nameAll(_ names: (_ name: String, _ suffix: String) -> (name: String, stem: String))
        throws(JournalError)
    {
        var last: Int64 = 0
        while true {
            let count = try change { db in
                let rows = try Row.fetchAll(
                    db.cachedStatement(
                        sql: """
                            SELECT w.place, f.key, f.name, f.suffix FROM work w JOIN found f ON f.number = w.found
                            WHERE w.place > ? ORDER BY w.place LIMIT ?
                            """
                    ),
                    arguments: [last, Self.itemsAtOnce]
                )
                let sql = "INSERT INTO naming (place, key, name, folded, stem) VALUES (?, ?, ?, ?, ?)"
                let insert = try db.cachedStatement(sql: sql)
                for row in rows {
                    last = row[0]
                    let own = names(row[2], row[3])
                    try insert.execute(arguments: [
                        last, row[1] as String, own.name, JournalSchema.fold(own.name), JournalSchema.fold(own.stem),
                    ])
                }
                return rows.count
            }
            guard count == Self.itemsAtOnce else { break }
        }
        // The item that keeps a name comes first.
        try execute(
            """
            CREATE INDEX temp.namingName ON naming (folded, isQualified, key);
            CREATE INDEX temp.namingStem ON naming (stem);
            INSERT INTO repeated (stem) SELECT DISTINCT stem FROM naming WHERE folded IN (
                SELECT folded FROM naming GROUP BY folded HAVING COUNT(*) > 1
            );
            """
        )
    }

    /// The first one, after another in ascending order, of the stems of names that several items have; nil when there is none.
    package func repeatedStem(after stem: String) throws(JournalError) -> String? {
        try use { db in
            let sql = "SELECT stem FROM repeated WHERE stem > ? ORDER BY stem LIMIT 1"
            return try String.fetchOne(db.cachedStatement(sql: sql), arguments: [stem])
        }
    }

    /// Chooses the items with a stem, for the calls that follow.
    /// - Parameter folders: the folders of an item's path, the innermost first, joined by "/".
    package func choose(
        stem: String,
        folders: (_ path: String, _ words: [String]) -> String
    ) throws(JournalError) {
        try change { db in
            try db.execute(sql: "DELETE FROM member")
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT n.place, f.path, f.words FROM naming n
                        JOIN work w ON w.place = n.place JOIN found f ON f.number = w.found
                        WHERE n.stem = ? ORDER BY n.place
                        """
                ),
                arguments: [stem]
            )
            let insert = try db.cachedStatement(sql: "INSERT INTO member (place, folders) VALUES (?, ?)")
            while let row = try rows.next() {
                let place: Int64 = row[0]
                try insert.execute(arguments: [place, folders(row[1], String.words(row[2]))])
            }
        }
    }

    /// Whether a text made of the folders is there, and differs, for all folders of the chosen items.
    package func differ(_ text: (_ folders: String) -> String?) throws(JournalError) -> Bool {
        try change { db in
            try db.execute(sql: "DELETE FROM seen")
            let insert = try db.cachedStatement(sql: "INSERT OR IGNORE INTO seen (text) VALUES (?)")
            let folders = try String.fetchCursor(db, sql: "SELECT DISTINCT folders FROM member")
            while let own = try folders.next() {
                guard let text = text(own) else { return false }
                try insert.execute(arguments: [JournalSchema.fold(text)])
                // A text that is there already is not inserted: two folders would have the same.
                if db.changesCount == 0 { return false }
            }
            return true
        }
    }

    /// In how many different folders the chosen items are, and the most folders of one.
    package func depth() throws(JournalError) -> (count: Int, most: Int) {
        try use { db in
            // There is one folder more than there are slashes.
            let sql = """
                SELECT COUNT(DISTINCT folders), MAX(CASE folders WHEN '' THEN 0
                    ELSE 1 + LENGTH(folders) - LENGTH(REPLACE(folders, '/', '')) END) FROM member
                """
            let row = try Row.fetchOne(db, sql: sql)
            return (row?[0] ?? 0, row?[1] ?? 0)
        }
    }

    /// Gives the chosen items their names with folders in front, unless one of them has none.
    /// - Parameter name: made of the folders and the preferred name; nil when it would be too long.
    package func qualify(_ name: (_ folders: String, _ name: String) -> String?) throws(JournalError) {
        try change { db in
            let sql = "SELECT m.place, m.folders, n.name FROM member m JOIN naming n ON n.place = m.place"
            let statement = try db.cachedStatement(sql: sql)
            // All names are made first: those of one stem get folders together or not at all.
            let check = try Row.fetchCursor(statement)
            while let row = try check.next() {
                guard name(row[1], row[2]) != nil else { return }
            }
            let update = try db.cachedStatement(
                sql: "UPDATE naming SET name = ?, folded = ?, isQualified = 1 WHERE place = ?"
            )
            var last: Int64 = 0
            while true {
                // Portions are fetched completely before their rows are changed.
                let portion = sql + " WHERE m.place > ? ORDER BY m.place LIMIT ?"
                let rows = try Row.fetchAll(db.cachedStatement(sql: portion), arguments: [last, Self.itemsAtOnce])
                for row in rows {
                    last = row[0]
                    guard let own = name(row[1], row[2]) else { continue }
                    try update.execute(arguments: [own, JournalSchema.fold(own), last])
                }
                if rows.count < Self.itemsAtOnce { return }
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

    /// The id of the item of the journal that is called so; nil for none.
    package func recordedItem(called name: String) throws(JournalError) -> Int64? {
        try use { db in
            let sql = "SELECT id FROM item WHERE foldedName = ?"
            return try Int64.fetchOne(db.cachedStatement(sql: sql), arguments: [JournalSchema.fold(name)])
        }
    }

    /// The id of the item of the journal with exactly this name; nil for none.
    package func recordedItem(named name: String) throws(JournalError) -> Int64? {
        try use { db in
            let statement = try db.cachedStatement(sql: "SELECT id FROM item WHERE name = ?")
            return try Int64.fetchOne(statement, arguments: [name])
        }
    }

    /// The last id of the journal; 0 without items.
    package func lastRecorded() throws(JournalError) -> Int64 {
        try use { db in try Int64.fetchOne(db, sql: "SELECT MAX(id) FROM item") ?? 0 }
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
