internal import GRDB

/// An item that gets a place in a shard, with what is predicted for it.
package struct DivisibleItem: Sendable {
    /// In the order of discovery.
    package let place: Int64
    /// The predicted processing time on this machine, 0 or more.
    package let seconds: Double
    /// The predicted peak memory of the process.
    package let bytes: Int

    /// - Parameters:
    ///   - place: in the order of discovery.
    ///   - seconds: predicted, 0 or more.
    ///   - bytes: predicted peak memory of the process.
    package init(at place: Int64, seconds: Double, bytes: Int) {
        (self.place, self.seconds, self.bytes) = (place, seconds, bytes)
    }
}

/// How the items are divided into shards: rows of a table, since there may be a million.
extension FoundTable {
    /// What some divisible items are together.
    package struct DivisionTotal: Sendable {
        /// The number of items.
        package let items: Int
        /// Of all, one after the other.
        package let seconds: Double
        /// Of the largest one; 0 without items.
        package let bytes: Int
    }

    /// Adds divisible items, in one transaction.
    package func add(_ items: [DivisibleItem]) throws(JournalError) {
        try change { db in
            let insert = try db.cachedStatement(sql: "INSERT INTO division (place, seconds, bytes) VALUES (?, ?, ?)")
            for item in items { try insert.execute(arguments: [item.place, item.seconds, item.bytes]) }
        }
    }

    /// - Parameter shard: its number; nil for all divisible items.
    package func divisionTotal(of shard: Int? = nil) throws(JournalError) -> DivisionTotal {
        try use { db in
            let sql = "SELECT COUNT(*), TOTAL(seconds), MAX(bytes) FROM division"
            let row = try Row.fetchOne(
                db,
                sql: sql + (shard == nil ? "" : " WHERE shard = ?"),
                arguments: shard.map { [$0] } ?? []
            )
            return DivisionTotal(items: row?[0] ?? 0, seconds: row?[1] ?? 0, bytes: row?[2] ?? 0)
        }
    }

    /// Gives every divisible item its shard.
    /// - Parameter shard: called with the seconds of each item, those that take longest before the others; the number of its
    ///   shard.
    package func divide(_ shard: (_ seconds: Double) -> Int) throws(JournalError) {
        try change { db in
            // SQLite sorts all rows, in a file where needed, before it gives the first one: the table may be changed meanwhile.
            let rows = try Row.fetchCursor(db, sql: "SELECT place, seconds FROM division ORDER BY seconds DESC, place")
            let update = try db.cachedStatement(sql: "UPDATE division SET shard = ? WHERE place = ?")
            while let row = try rows.next() { try update.execute(arguments: [shard(row[1]), row[0] as Int64]) }
            try db.execute(sql: "CREATE INDEX temp.divisionShard ON division (shard)")
        }
    }
}
