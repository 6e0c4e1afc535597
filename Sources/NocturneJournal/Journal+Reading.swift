internal import GRDB

extension Journal {
    /// Every item, in the order of discovery: for batches of a size that one can look at, and for tests.
    public func items() throws(JournalError) -> [JournalItem] { try items("1 ORDER BY id") }

    /// The items with some names, by name.
    public func items(named names: some Collection<String> & Sendable) throws(JournalError) -> [String: JournalItem] {
        try read { db in
            let sql = "SELECT \(JournalItem.columns) FROM item WHERE name = ?"
            let statement = try db.cachedStatement(sql: sql)
            var items: [String: JournalItem] = [:]
            for name in names {
                guard let row = try Row.fetchOne(statement, arguments: [name]) else { continue }
                items[name] = try JournalItem(row)
            }
            return items
        }
    }

    /// The items in a state, in the order of discovery.
    public func items(in state: ItemState) throws(JournalError) -> [JournalItem] {
        try items("state = ? ORDER BY id", [state.rawValue])
    }

    private func items(_ condition: String, _ arguments: StatementArguments = []) throws(JournalError) -> [JournalItem]
    {
        try read { db in
            let sql = "SELECT \(JournalItem.columns) FROM item WHERE \(condition)"
            return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).map { try JournalItem($0) }
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

    /// What was found of some items, without those whose id is unknown.
    public func discovered(_ ids: [Int64]) throws(JournalError) -> [Int64: DiscoveredSource] {
        try read { db in
            let statement = try db.cachedStatement(sql: "SELECT source, path, fingerprint FROM item WHERE id = ?")
            var found: [Int64: DiscoveredSource] = [:]
            for id in ids {
                guard let row = try Row.fetchOne(statement, arguments: [id]) else { continue }
                let inputs = try InputStamp.fetch(of: id, at: row[1], db)
                found[id] = DiscoveredSource(source: row[0], path: row[1], fingerprint: row[2], inputs: inputs)
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
            let sql = "SELECT \(JournalItem.columns) FROM item WHERE id > ? ORDER BY id LIMIT ?"
            let items = try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id, limit])
                .map { try JournalItem($0) }
            guard let last = items.last else { return [] }
            let products = try ResultTables(db).products(of: .range(after: id, through: last.id))
            return items.map { ItemRecord($0, written: products[$0.id] ?? ItemProduct()) }
        }
    }

    /// How many items are to be processed, by the id of their model.
    package func pendingCounts() throws(JournalError) -> [String: Int] {
        try read { db in
            let sql = """
                SELECT i.model, COUNT(*) FROM work w JOIN item i ON i.id = w.item WHERE w.action IN (1, 2)
                GROUP BY i.model
                """
            return Dictionary(uniqueKeysWithValues: try Row.fetchAll(db, sql: sql).map { ($0[0], $0[1]) })
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
        try read { db in
            var statistics: [Int64: [Statistic]] = [:]
            try ResultTables(db).forEachMeasure(of: .completed) { statistics[$0, default: []].append($1) }
            return statistics
        }
    }

    /// The parts recorded for each completed item that has any, by id, with the texts that they have been given since.
    public func parts() throws(JournalError) -> [Int64: [ItemPart]] {
        var parts = try read { db in
            try ResultTables(db).rows(ItemPart.self, of: .completed).reduce(into: [Int64: [ItemPart]]()) {
                $0[$1.item, default: []].append($1.value)
            }
        }
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
        try read { db in try ResultTables(db).files(of: .one(id)).map(\.file) }
    }
}
