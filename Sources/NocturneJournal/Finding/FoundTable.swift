import Foundation
internal import GRDB
package import NocturneSystem

/// What the search of the inputs has found: rows of temporary tables next to the table of items, so that SQL compares them.
///
/// Called by recipes and by the reconciliation on threads of a pool that may wait: SQLite has one connection, whose users
/// wait for each other. Nothing here is flushed, and memory does not grow with the number of items.
public final class FoundTable: Sendable {
    private let queue: DatabaseQueue

    init(_ queue: DatabaseQueue) { self.queue = queue }

    /// A table for a journal without items, in a temporary database.
    package convenience init() throws(JournalError) {
        self.init(try DatabaseQueue.temporaryJournal())
        try begin()
    }

    /// How many rows are written or read in one go, and the bytes of their sources: a series has tens of kilobytes.
    package static let (itemsAtOnce, bytesAtOnce) = (1000, 4 << 20)

    /// Forgets what an earlier search has found.
    package func begin() throws(JournalError) {
        try use { db in
            let tables = [
                "file", "claim", "unclaimed", "found", "foundInput", "work", "taken", "planned", "division", "naming",
                "repeated",
            ]
            for table in tables {
                try db.execute(sql: "DROP TABLE IF EXISTS temp.\(table)")
            }
            try db.execute(sql: "PRAGMA temp.cache_size = -8192")
            try db.execute(sql: JournalSchema.temporaryTables)
        }
    }

    // MARK: Adding

    /// Adds items in one transaction.
    /// - Parameter objection: why the model of an item must not process it; nil when it may.
    package func add(
        _ items: [DiscoveredItem],
        objection: (DiscoveredItem) -> Sentence? = { _ in nil }
    ) throws(JournalError) {
        try change { db in
            let insert = try db.cachedStatement(
                sql: """
                    INSERT INTO found (recipe, rank, sort, key, name, suffix, model, source, path, fingerprint, words,
                        problem, code, reason, stage, objection)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """
            )
            let insertInput = try db.cachedStatement(
                sql: """
                    INSERT INTO foundInput (found, number, path, size, seconds, nanoseconds, touched)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """
            )
            for item in items {
                let reason = item.problem?.reason
                try insert.execute(arguments: [
                    item.recipe, item.rank, JournalSchema.canonical(item.order), JournalSchema.canonical(item.key),
                    item.name, item.suffix, item.model, item.source, item.path, item.fingerprint.hex,
                    item.words.joined(separator: " "), item.problem?.kind, reason?.code.rawValue,
                    reason?.sentence.column,
                    reason?.stage, objection(item)?.column,
                ])
                try InputStamp.insert(item.inputs, of: db.lastInsertedRowID, at: item.path, insertInput)
            }
        }
    }

    // MARK: Reading

    /// Whether nothing was found.
    package func isEmpty() throws(JournalError) -> Bool {
        try use { db in try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM found)") ?? true }
    }

    /// Whether an item of this path was found.
    package func contains(path: String) throws(JournalError) -> Bool {
        try use { db in
            try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM found WHERE path = ?)"),
                arguments: [path]
            ) ?? false
        }
    }

    /// All items in the order of discovery, with their files; after ``merge(objectionCode:joined:models:)``.
    package func items() throws(JournalError) -> [DiscoveredItem] {
        try use { db in
            let sql = "SELECT \(Self.columns) FROM found f ORDER BY f.recipe, f.rank, f.sort, f.number"
            return try Row.fetchAll(db, sql: sql).map { try DiscoveredItem($0, db) }
        }
    }

    /// Calls `body` with the names and sources of the good items that a recipe has found, in the order of discovery, until it
    /// returns false.
    package func forEachFound(
        recipe: Int,
        _ body: (_ name: String, _ source: String) throws -> Bool
    ) throws(JournalError) {
        try use { db in
            let sql = """
                SELECT i.name, f.source FROM work w JOIN found f ON f.number = w.found JOIN item i ON i.key = f.key
                WHERE f.recipe = ? AND f.problem IS NULL ORDER BY w.place
                """
            let rows = try Row.fetchCursor(db, sql: sql, arguments: [recipe])
            while let row = try rows.next() {
                guard try body(row[0], row[1]) else { return }
            }
        }
    }

    /// Calls `body` with the names of the completed items of the journal, in the order of discovery.
    package func forEachCompleted(_ body: (_ name: String) throws -> Void) throws {
        try forEachPortion(number: \.id) { (rows: [(id: Int64, name: String)]) in
            for row in rows {
                guard FileSystem.isName(row.name) else { throw JournalError(damagedBy: row.name) }
                try body(row.name)
            }
        } read: { last in
            try use { db in
                let sql = "SELECT id, name FROM item WHERE state = 'completed' AND id > ? ORDER BY id LIMIT ?"
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce])
                    .map { (id: $0[0] as Int64, name: $0[1] as String) }
            }
        }
    }

    // MARK: Changing

    /// Removes items.
    package func removeAll(where isRemoved: (DiscoveredItem) throws -> Bool) throws {
        try forEachPortion(number: \.number) { (portion: [(number: Int64, item: DiscoveredItem)]) in
            let removed = try portion.filter { try isRemoved($0.item) }.map(\.number)
            guard !removed.isEmpty else { return }
            try change { db in
                let statement = try db.cachedStatement(sql: "DELETE FROM found WHERE number = ?")
                for number in removed { try statement.execute(arguments: [number]) }
            }
        } read: { last in
            try use { db in
                let sql = "SELECT \(Self.columns) FROM found f WHERE f.number > ? ORDER BY f.number LIMIT ?"
                return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [last, Self.itemsAtOnce / 4])
                    .map { row in (number: row[0] as Int64, item: try DiscoveredItem(row, db)) }
            }
        }
    }

    /// Removes the items of some paths.
    package func remove(paths: Set<String>) throws(JournalError) {
        guard !paths.isEmpty else { return }
        try change { db in
            let statement = try db.cachedStatement(sql: "DELETE FROM found WHERE path = ?")
            for path in paths { try statement.execute(arguments: [path]) }
        }
    }

    // MARK: For the extensions

    static let columns = """
        f.number, f.recipe, f.rank, f.sort, f.key, f.name, f.suffix, f.model, f.source, f.path, f.fingerprint, f.words,
        f.problem, f.code, f.reason, f.stage
        """
    static let columnCount = 16

    func use<R>(_ body: (Database) throws -> R) throws(JournalError) -> R {
        // Without a transaction: `change` begins one, and a temporary table of one connection needs no lock to be
        // read.
        do { return try queue.writeWithoutTransaction(body) } catch { throw JournalError(finding: error) }
    }

    /// Calls `body` with rows in the order of their numbers, some at a time.
    /// - Parameter read: some rows after a number; none when there are no more.
    func forEachPortion<Element>(
        number: (Element) -> Int64,
        _ body: ([Element]) throws -> Void,
        read: (_ last: Int64) throws -> [Element]
    ) throws {
        var portion = try read(0)
        while let end = portion.last {
            try body(portion)
            portion = try read(number(end))
        }
    }

    /// Statements without arguments, in one transaction.
    func execute(_ sql: String) throws(JournalError) { try change { db in try db.execute(sql: sql) } }

    /// One transaction, which locks nothing but the temporary tables unless `body` writes to others.
    func change<R>(_ body: (Database) throws -> R) throws(JournalError) -> R {
        try use { db in
            var result: R?
            // Deferred: an immediate transaction would lock the file of the journal, where only temporary tables are
            // written.
            try db.inTransaction(.deferred) {
                result = try body(db)
                return .commit
            }
            guard let result else { throw JournalError(.failed, detail: "a transaction of the journal had no end") }
            return result
        }
    }
}

extension DiscoveredItem {
    /// - Parameter row: with the columns of ``FoundTable/columns`` in front.
    init(_ row: Row, _ db: Database) throws {
        self.init(
            key: row[4],
            name: row[5],
            model: row[7],
            path: row[9],
            fingerprint: try ContentDigest(recorded: row[10]),
            inputs: try InputStamp.fetch(of: row[0], at: row[9], isFound: true, db)
        )
        problem = ItemProblem(kind: row[12], ItemReason(row[14], code: row[13], stage: row[15]))
        (recipe, rank, order, suffix, source) = (row[1], row[2], row[3], row[6], row[8])
        words = String.words(row[11])
    }
}
