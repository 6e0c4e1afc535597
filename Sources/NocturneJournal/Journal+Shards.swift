internal import GRDB
public import NocturneSystem

/// Items of a batch that is divided into shards, each of which has a journal of its own.
extension Journal {
    /// Adds items with their source files, in one transaction.
    public func plan(_ items: [PlannedEntry]) throws(JournalError) {
        try record(items.map(\.entry))
        try change(.journalRecord) { db in
            let statement = try db.makeStatement(sql: "UPDATE item SET inputs = :inputs WHERE key = :key")
            for item in items where !item.inputs.isEmpty {
                try statement.execute(arguments: ["inputs": item.inputs, "key": item.entry.key])
            }
        }
    }

    /// The items that were planned with their source files and are in one of these states, in the order of discovery.
    public func planned(_ states: Set<ItemState>) throws(JournalError) -> FileBackedList<PlannedEntry> {
        let wanted = states.map(\.rawValue)
        return try read { db in
            let sql = "SELECT * FROM item WHERE inputs != '' ORDER BY id"
            let rows = try Row.fetchCursor(db, sql: sql)
            var items = FileBackedList<PlannedEntry>()
            while let row = try rows.next() {
                let state: String = row["state"]
                guard wanted.contains(state) else { continue }
                let name: String = row["name"]
                guard RelativePath.isName(name) else { throw JournalError(damagedBy: name) }
                let entry = JournalEntry(
                    key: row["key"],
                    name: name,
                    model: row["model"],
                    source: row["source"],
                    path: row["path"],
                    fingerprint: row["fingerprint"],
                    state: ItemState(rawValue: state) ?? .pending,
                    words: Journal.words(row["words"])
                )
                items.append(PlannedEntry(entry, inputs: row["inputs"]))
            }
            return items
        }
    }

    private static let shardColumns = [
        "state", "reason", "code", "stage", "files", "statistics", "notes", "parts", "changed", "fingerprint",
    ]

    /// How some items of this shard stand, after one in the order of discovery. Those that wait are left out.
    /// - Parameters:
    ///   - id: of the last item that was read; 0 for none.
    ///   - limit: how many at most. Fewer mean that there are no more.
    public func shardRecords(after id: Int64, limit: Int) throws(JournalError) -> [ShardRecord] {
        try read { db in
            let columns = Journal.shardColumns.joined(separator: ", ")
            let sql = """
                SELECT id, key, deaths, \(columns) FROM item
                WHERE id > ? AND state NOT IN ('pending', 'started') ORDER BY id LIMIT ?
                """
            let rows = try Row.fetchCursor(db, sql: sql, arguments: [id, limit])
            var records: [ShardRecord] = []
            while let row = try rows.next() {
                records.append(
                    ShardRecord(
                        id: row["id"],
                        key: row["key"],
                        state: ItemState(rawValue: row["state"]) ?? .pending,
                        columns: Dictionary(
                            uniqueKeysWithValues: Journal.shardColumns.map { ($0, row[$0] as String?) }
                        ),
                        crashes: row["deaths"]
                    )
                )
            }
            return records
        }
    }

    /// Takes over how some items of a shard stand, in one transaction. What is recorded already is not changed.
    /// - Returns: the number of items that changed.
    @discardableResult
    public func merge(_ records: [ShardRecord]) throws(JournalError) -> Int {
        var changed = 0
        try change(.journalRecord) { db in
            let changes = Journal.shardColumns.map { "\($0) = :\($0)" }.joined(separator: ", ")
            let statement = try db.makeStatement(
                sql: """
                    UPDATE item SET deaths = :deaths, \(changes) WHERE key = :key
                        AND (state != :state OR changed IS NOT :changed OR reason IS NOT :reason OR files IS NOT :files)
                    """
            )
            for record in records {
                var arguments: [String: (any DatabaseValueConvertible)?] = record.columns.mapValues { $0 }
                arguments["key"] = record.key
                arguments["deaths"] = record.crashes
                try statement.execute(arguments: StatementArguments(arguments))
                changed += db.changesCount
            }
            if changed > 0 { try Journal.markReportOld(db) }
        }
        return changed
    }
}
