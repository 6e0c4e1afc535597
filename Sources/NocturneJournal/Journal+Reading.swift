import Foundation
internal import GRDB
public import NocturneSystem

extension Journal {
    /// Every item, in the order of discovery.
    public func items() throws(JournalError) -> FileBackedList<JournalItem> {
        try read { db in
            let rows = try Row.fetchCursor(db, sql: "SELECT \(JournalItem.columns) FROM item ORDER BY id")
            var items = FileBackedList<JournalItem>()
            let decoder = JSONDecoder()
            while let row = try rows.next() { items.append(try JournalItem(row, decoder)) }
            return items
        }
    }

    /// The items in a state, in the order of discovery.
    public func items(in state: ItemState) throws(JournalError) -> [JournalItem] {
        try read { db in
            let sql = "SELECT \(JournalItem.columns) FROM item WHERE state = ? ORDER BY id"
            let decoder = JSONDecoder()
            return try Row.fetchAll(db, sql: sql, arguments: [state.rawValue]).map { try JournalItem($0, decoder) }
        }
    }

    /// Whether there is no item yet.
    public func isEmpty() throws(JournalError) -> Bool {
        try read { db in try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM item)") ?? true }
    }

    /// The paths of items in a state, each once.
    public func paths(in state: ItemState) throws(JournalError) -> Set<String> {
        try read { db in
            try String.fetchSet(db, sql: "SELECT path FROM item WHERE state = ?", arguments: [state.rawValue])
        }
    }

    /// The ids of items, in the order of their keys; nil for a key that the journal does not have.
    public func ids(of keys: [String]) throws(JournalError) -> [Int64?] {
        try read { db in
            let statement = try db.cachedStatement(sql: "SELECT id FROM item WHERE key = ?")
            return try keys.map { try Int64.fetchOne(statement, arguments: [$0]) }
        }
    }

    /// What discovery has recorded of an item: its source in the recipe's form, its input as the user knows it, and its
    /// fingerprint.
    public typealias Discovered = (source: String, path: String, fingerprint: String)

    /// What discovery has recorded of some items, without those whose id is unknown.
    public func discovered(_ ids: [Int64]) throws(JournalError) -> [Int64: Discovered] {
        try read { db in
            let statement = try db.cachedStatement(sql: "SELECT source, path, fingerprint FROM item WHERE id = ?")
            var found: [Int64: Discovered] = [:]
            for id in ids {
                guard let row = try Row.fetchOne(statement, arguments: [id]) else { continue }
                found[id] = (row["source"], row["path"], row["fingerprint"])
            }
            return found
        }
    }

    /// The items after one in the order of discovery, with what is kept of their results: for readers that do not have all
    /// of them in memory.
    /// - Parameters:
    ///   - id: of the last item that was read; 0 for none.
    ///   - limit: how many at most. Fewer mean that there are no more.
    /// - Throws: ``JournalError``.
    public func records(after id: Int64, limit: Int) throws(JournalError) -> [ItemRecord] {
        try read { db in
            let sql = """
                SELECT \(JournalItem.columns), statistics, files, parts FROM item
                WHERE id > ? ORDER BY id LIMIT ?
                """
            let rows = try Row.fetchCursor(db, sql: sql, arguments: [id, limit])
            var records: [ItemRecord] = []
            let decoder = JSONDecoder()
            while let row = try rows.next() {
                let item = try JournalItem(row, decoder)
                records.append(
                    ItemRecord(item, statistics: row["statistics"], files: row["files"], parts: row["parts"])
                )
            }
            return records
        }
    }

    /// How many items are in each state; states of no item are left out.
    public func stateCounts() throws(JournalError) -> [ItemState: Int] {
        try read { db in
            let rows = try Row.fetchAll(db, sql: "SELECT state, count(*) AS number FROM item GROUP BY state")
            return Dictionary(
                rows.map { (ItemState(rawValue: $0["state"]) ?? .pending, $0["number"]) },
                uniquingKeysWith: +
            )
        }
    }

    /// The statistics recorded for each completed item, by id.
    public func statistics() throws(JournalError) -> [Int64: [Statistic]] {
        try lists("statistics") { try StatisticList.read($0) }
    }

    /// The parts recorded for each completed item that has any, by id, with the texts that they have been given since.
    public func parts() throws(JournalError) -> [Int64: [ItemPart]] {
        let decoder = JSONDecoder()
        var parts = try lists("parts") { try decoder.decode([ItemPart].self, from: Data($0.utf8)) }
        let texts = try texts()
        guard !texts.isEmpty else { return parts }
        let current = texts.current(for: try items())
        for (id, texts) in current {
            parts[id] = parts[id]?.map { part in texts[part.id].map(part.with) ?? part }
        }
        return parts
    }

    /// The files of the result that the item had when it was last completed, whatever its state is now: they prove whose
    /// folder has the item's name.
    public func writtenFiles(of id: Int64) throws(JournalError) -> [ItemFile] {
        try read { db in
            let text = try String.fetchOne(db, sql: "SELECT files FROM item WHERE id = ?", arguments: [id])
            let files = try text.map { try JSONDecoder().decode([ItemFile].self, from: Data($0.utf8)) } ?? []
            for file in files where !RelativePath.staysBelow(file.path) { throw JournalError(damagedBy: file.path) }
            return files
        }
    }

    private func lists<Value>(
        _ column: String,
        _ decode: (String) throws -> [Value]
    ) throws(JournalError) -> [Int64: [Value]] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT id, \(column) FROM item WHERE state = 'completed' AND \(column) != '[]'"
            )
            var result: [Int64: [Value]] = [:]
            result.reserveCapacity(rows.count)
            for row in rows {
                result[row["id"]] = try decode(row[column])
            }
            return result
        }
    }
}

extension Journal {
    /// Words as the table has them.
    static func words(_ text: String) -> [String] { text.isEmpty ? [] : text.split(separator: " ").map(String.init) }
}

extension JournalItem {
    fileprivate static let columns =
        "id, key, name, path, fingerprint, state, reason, code, stage, deaths, notes, changed, model, words"

    fileprivate init(_ row: Row, _ decoder: JSONDecoder) throws {
        let notes: String = row["notes"]
        let name: String = row["name"]
        let reason: String? = row["reason"]
        let code: String? = row["code"]
        let stage: String? = row["stage"]
        // Folders of this name are replaced and removed.
        guard RelativePath.isName(name) else { throw JournalError(damagedBy: name) }
        self.init(
            id: row["id"],
            key: row["key"],
            name: name,
            path: row["path"],
            fingerprint: row["fingerprint"],
            state: ItemState(rawValue: row["state"]) ?? .pending,
            reason: reason.map { ItemReason(code.map(FaultCode.init(rawValue:)) ?? .notRecorded, $0, stage: stage) },
            crashes: row["deaths"],
            // Most items have none, and there may be a hundred thousand of them.
            notes: notes == "[]" ? [] : try decoder.decode([String].self, from: Data(notes.utf8)),
            changed: row["changed"],
            model: row["model"],
            words: Journal.words(row["words"])
        )
    }
}
