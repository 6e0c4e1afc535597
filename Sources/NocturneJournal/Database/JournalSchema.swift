import GRDB

/// The tables of the journal as a list of named migrations. A migration that has been released is never changed: a new
/// version adds one.
enum JournalSchema {
    /// Brings a journal up to date. One that is up to date is not written.
    /// - Throws: ``JournalError`` with `newerSchema` when it holds migrations that this version does not know.
    static func migrate(_ queue: DatabaseQueue, path: String) throws {
        let unknown = try queue.read { db in
            try migrator.hasBeenSuperseded(db)
                ? migrator.appliedIdentifiers(db).subtracting(migrator.migrations).sorted() : []
        }
        guard unknown.isEmpty else {
            throw JournalError(
                .newerSchema,
                detail: "\(path): this batch was made by a newer version of Nocturne (its journal has the changes "
                    + unknown.joined(separator: ", ") + "); use that version or a newer one"
            )
        }
        var applied = try queue.read(migrator.appliedIdentifiers)
        while try !queue.read(migrator.hasCompletedMigrations) {
            do {
                try migrator.migrate(queue)
            } catch let error as DatabaseError {
                // Another process, such as `nocturne status`, may just have applied the same migration.
                let before = applied
                applied = try queue.read(migrator.appliedIdentifiers)
                guard applied.count > before.count else { throw error }
            }
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        // Version 0.1.0 had the same tables and did not list its migrations, so the first ones accept what is there.
        migrator.registerMigration("items and settings") { db in
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
                        changed TEXT
                    );
                    """
            )
        }
        migrator.registerMigration("parts of items") { db in
            guard try !db.columns(in: "item").contains(where: { $0.name == "parts" }) else { return }
            try db.execute(sql: "ALTER TABLE item ADD COLUMN parts TEXT NOT NULL DEFAULT '[]'")
        }
        migrator.registerMigration("models of items") { db in
            try db.execute(sql: "ALTER TABLE item ADD COLUMN model TEXT NOT NULL DEFAULT ''")
        }
        migrator.registerMigration("marks of reviewers") { db in
            try db.execute(
                sql: """
                    CREATE TABLE mark (
                        item TEXT NOT NULL,
                        object TEXT NOT NULL DEFAULT '',
                        rater TEXT NOT NULL,
                        fingerprint TEXT NOT NULL,
                        verdict TEXT NOT NULL,
                        comment TEXT NOT NULL DEFAULT '',
                        time TEXT NOT NULL,
                        PRIMARY KEY (item, object, rater)
                    )
                    """
            )
        }
        migrator.registerMigration("edited labels") { db in
            try db.execute(
                sql: """
                    CREATE TABLE edit (
                        item TEXT PRIMARY KEY,
                        base TEXT NOT NULL,
                        file TEXT NOT NULL,
                        sha256 TEXT NOT NULL,
                        time TEXT NOT NULL
                    )
                    """
            )
        }
        // A reason of an earlier version has neither.
        migrator.registerMigration("codes of reasons") { db in
            try db.execute(sql: "ALTER TABLE item ADD COLUMN code TEXT")
            try db.execute(sql: "ALTER TABLE item ADD COLUMN stage TEXT")
        }
        // Only items of a batch that is divided into shards have them.
        migrator.registerMigration("inputs of planned items") { db in
            try db.execute(sql: "ALTER TABLE item ADD COLUMN inputs TEXT NOT NULL DEFAULT ''")
        }
        // Of letters and digits, separated by spaces.
        migrator.registerMigration("words of patients in paths") { db in
            try db.execute(sql: "ALTER TABLE item ADD COLUMN words TEXT NOT NULL DEFAULT ''")
        }
        migrator.registerMigration("texts of objects") { db in
            try db.execute(
                sql: """
                    CREATE TABLE text (
                        item TEXT NOT NULL,
                        object INTEGER NOT NULL,
                        fingerprint TEXT NOT NULL,
                        title TEXT,
                        author TEXT,
                        PRIMARY KEY (item, object)
                    )
                    """
            )
        }
        return migrator
    }
}
