import Foundation
internal import GRDB
import NocturneCore
import NocturneSystem

/// The batch's SQLite file: the only truth about what is done. The scheduler is its only writer.
///
/// Completions are durable when the call returns (`synchronous=FULL`, WAL: one flush a transaction, whatever the number
/// of items in it). Marks that an item was started are not flushed: a killed process loses nothing that was written,
/// and after a power cut an item that was in flight is simply pending.
public final class Journal: Sendable {
    private let queue: DatabaseQueue

    /// Opens or creates the file. Where nothing can be written, a copy of it is opened.
    /// - Throws: ``BatchError`` when SQLite will not, naming the file.
    public init(path: String) throws {
        do {
            try FaultPoint.journalOpen.pass()
            // SQLite gives the log beside it the rights of the file: both are for their owner alone.
            FileSystem.touch(path, mode: 0o600)
            var configuration = Configuration()
            configuration.busyMode = .timeout(5)
            let copy = try JournalCopy(ifNeededFor: path)
            defer { copy?.remove() }
            queue = try DatabaseQueue(path: copy?.path ?? path, configuration: configuration)
            // Set after opening: GRDB's own set-up would change it back.
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
            }
            try queue.write { db in try Journal.createTables(db) }
        } catch {
            let code = JournalError(error).systemCode
            throw BatchError(.journalUnusable, path: path, detail: "\(error)", systemCode: code)
        }
    }

    private static func createTables(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
                CREATE TABLE IF NOT EXISTS item (
                    id INTEGER PRIMARY KEY,
                    key TEXT NOT NULL UNIQUE,
                    name TEXT NOT NULL UNIQUE,
                    source TEXT NOT NULL,
                    path TEXT NOT NULL,
                    fingerprint TEXT NOT NULL,
                    state TEXT NOT NULL,
                    reason TEXT,
                    deaths INTEGER NOT NULL DEFAULT 0,
                    notes TEXT NOT NULL DEFAULT '[]',
                    statistics TEXT NOT NULL DEFAULT '[]',
                    files TEXT NOT NULL DEFAULT '[]',
                    changed TEXT,
                    parts TEXT NOT NULL DEFAULT '[]'
                );
                """
        )
        // Batches begun before there were parts.
        if try !db.columns(in: "item").contains(where: { $0.name == "parts" }) {
            try db.execute(sql: "ALTER TABLE item ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'")
        }
    }

    /// The version of SQLite that is loaded.
    public static func libraryVersion() throws -> String {
        try DatabaseQueue().read { db in try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? "" }
    }

    // MARK: Settings

    public func setting(_ key: String) throws -> String? {
        try queue.read { db in try String.fetchOne(db, sql: "SELECT value FROM setting WHERE key = ?", arguments: [key])
        }
    }

    public func setSetting(_ key: String, _ value: String) throws {
        try change(.journalSetting) { db in
            try db.execute(sql: "INSERT OR REPLACE INTO setting VALUES (?, ?)", arguments: [key, value])
        }
    }

    /// How long items took so far.
    func pace() throws -> LearnedPace {
        guard let text = try setting("pace") else { return LearnedPace() }
        return try JSONDecoder().decode(LearnedPace.self, from: Data(text.utf8))
    }

    func keep(_ pace: LearnedPace) throws {
        try setSetting("pace", String(decoding: try JSONEncoder().encode(pace), as: UTF8.self))
    }

    /// How often an engine died while no item was in flight, since items were last worked on.
    func deathsOutsideItems() throws -> Int { Int(try setting("deathsOutsideItems") ?? "") ?? 0 }

    func keep(deathsOutsideItems count: Int) throws { try setSetting("deathsOutsideItems", "\(count)") }

    func forgetDeathsOutsideItems() throws { if try deathsOutsideItems() != 0 { try keep(deathsOutsideItems: 0) } }

    /// Whether the account was written since the journal last changed.
    func isAccounted() throws -> Bool { try setting("accounted") == "yes" }

    func markAccounted() throws { try setSetting("accounted", "yes") }

    /// In the same transaction as every change: from now on the account on the disk is old.
    private static func outdateAccount(_ db: Database) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO setting VALUES ('accounted', 'no')")
    }

    // MARK: Reading

    /// Every item, in the order of discovery.
    public func items() throws -> [JournalItem] {
        try queue.read { db in
            try Row.fetchCursor(
                db,
                sql:
                    "SELECT id, key, name, path, fingerprint, state, reason, deaths, notes, changed FROM item ORDER BY id"
            ).map { try Journal.item($0) }.array()
        }
    }

    private static func item(_ row: Row) throws -> JournalItem {
        JournalItem(
            id: row[0],
            key: row[1],
            name: row[2],
            path: row[3],
            fingerprint: row[4],
            state: ItemState(rawValue: row[5]) ?? .pending,
            reason: row[6],
            deaths: row[7],
            notes: try decode([String].self, row[8]),
            changed: row[9]
        )
    }

    /// The files recorded for each completed item, by id.
    public func files() throws -> [Int64: [ItemFile]] {
        try column("files", of: [ItemFile].self)
    }

    /// The statistics recorded for each completed item, by id.
    public func statistics() throws -> [Int64: [Statistic]] {
        try column("statistics", of: [Statistic].self)
    }

    /// The parts recorded for each completed item that has any, by id.
    public func parts() throws -> [Int64: [ItemPart]] {
        try column("parts", of: [ItemPart].self)
    }

    private func column<Value: Decodable>(_ name: String, of: [Value].Type) throws -> [Int64: [Value]] {
        try queue.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT id, \(name) FROM item WHERE state = 'completed' AND \(name) != '[]'"
            )
            let decoder = JSONDecoder()
            var result: [Int64: [Value]] = [:]
            result.reserveCapacity(rows.count)
            for row in rows {
                let text: String = row[1]
                result[row[0]] = try decoder.decode([Value].self, from: Data(text.utf8))
            }
            return result
        }
    }

    // MARK: Writing

    /// One transaction, durable when it returns.
    /// - Throws: ``JournalError``.
    private func change(_ point: FaultPoint, _ body: (Database) throws -> Void) throws(JournalError) {
        do {
            try point.pass()
            try queue.write(body)
        } catch {
            throw JournalError(error)
        }
    }

    /// Adds items that are new, and brings those that changed up to date, in one transaction.
    public func record(_ entries: [JournalEntry]) throws {
        guard !entries.isEmpty else { return }
        try change(.journalRecord) { db in
            try Journal.outdateAccount(db)
            let insert = try db.makeStatement(
                sql: """
                    INSERT INTO item (key, name, source, path, fingerprint, state, reason, deaths) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (key) DO UPDATE SET source = excluded.source, path = excluded.path,
                        fingerprint = excluded.fingerprint, state = excluded.state, reason = excluded.reason,
                        deaths = excluded.deaths, files = '[]', statistics = '[]', notes = '[]', parts = '[]'
                    """
            )
            for entry in entries {
                try insert.execute(arguments: [
                    entry.item.key, entry.name, entry.item.source, entry.item.path, entry.item.fingerprint.hex,
                    entry.state.rawValue, entry.reason, entry.deaths,
                ])
            }
        }
    }

    /// Marks items as in flight, without a flush.
    public func markStarted(_ ids: [Int64]) throws {
        do {
            try FaultPoint.journalStart.pass()
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                defer { try? db.execute(sql: "PRAGMA synchronous = FULL") }
                try db.inTransaction {
                    let statement = try db.makeStatement(
                        sql: "UPDATE item SET state = 'started', reason = NULL WHERE id = ?"
                    )
                    for id in ids { try statement.execute(arguments: [id]) }
                    return .commit
                }
            }
        } catch {
            throw JournalError(error)
        }
    }

    /// Records items as completed with all their files. Durable when it returns.
    public func complete(_ products: [(id: Int64, product: ItemProduct)], at time: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let rows = try products.map { entry in
            (
                entry.id, try encode(entry.product.files, encoder), try encode(entry.product.statistics, encoder),
                try encode(entry.product.notes, encoder), try encode(entry.product.parts, encoder)
            )
        }
        try change(.journalComplete) { db in
            try Journal.outdateAccount(db)
            let statement = try db.makeStatement(
                sql: """
                    UPDATE item SET state = 'completed', reason = NULL, deaths = 0, files = ?, statistics = ?, notes = ?,
                        parts = ?, changed = ? WHERE id = ?
                    """
            )
            for (id, files, statistics, notes, parts) in rows {
                try statement.execute(arguments: [files, statistics, notes, parts, time, id])
            }
            try FaultPoint.journalTransaction.pass()
        }
        do { try FaultPoint.journalCompleted.pass() } catch { throw JournalError(error) }
    }

    /// Records another end (or a return to pending) with its reason. Durable when it returns.
    public func settle(_ ids: [Int64], as state: ItemState, reason: String?, at time: String) throws {
        guard !ids.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.outdateAccount(db)
            let statement = try db.makeStatement(sql: "UPDATE item SET state = ?, reason = ?, changed = ? WHERE id = ?")
            for id in ids { try statement.execute(arguments: [state.rawValue, reason, time, id]) }
        }
    }

    /// Records what became of items that were in flight when an engine ended. Durable when it returns.
    package func takeBack(_ items: [JournalItem], at time: String) throws {
        guard !items.isEmpty else { return }
        try change(.journalSettle) { db in
            try Journal.outdateAccount(db)
            let statement = try db.makeStatement(
                sql: "UPDATE item SET state = ?, reason = ?, deaths = ?, changed = ? WHERE id = ?"
            )
            for item in items {
                try statement.execute(arguments: [item.state.rawValue, item.reason, item.deaths, time, item.id])
            }
        }
    }

    public func close() { try? queue.close() }
}

extension RowCursor {
    fileprivate func array() throws -> [Row] { try Array(self) }
}

extension MapCursor {
    fileprivate func array() throws -> [Element] { try Array(self) }
}

private func encode(_ value: some Encodable, _ encoder: JSONEncoder) throws -> String {
    String(decoding: try encoder.encode(value), as: UTF8.self)
}

private func decode<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    if text == "[]", let empty = [String]() as? Value { return empty }
    return try JSONDecoder().decode(type, from: Data(text.utf8))
}
