import Foundation
import GRDB

/// The tables of the journal. A migration that has been released is never changed: a new version adds one.
enum JournalSchema {
    /// Brings a journal up to date. One that is up to date is not written.
    /// - Throws: ``JournalError`` with `newerSchema` when it holds migrations that this version does not know.
    static func migrate(_ queue: DatabaseQueue, path: String) throws {
        var applied = try queue.read(appliedIdentifiers)
        let unknown = applied.subtracting(migrator.migrations).sorted()
        guard unknown.isEmpty else {
            throw JournalError(
                .newerSchema,
                detail: "\(path): this batch was made by another version of Nocturne (its journal has the changes "
                    + unknown.joined(separator: ", ") + "); use that version or a newer one"
            )
        }
        while !applied.isSuperset(of: migrator.migrations) {
            do {
                return try migrator.migrate(queue)
            } catch let error as DatabaseError {
                // Another process, such as `nocturne status`, may just have applied the same migration.
                let before = applied
                applied = try queue.read(appliedIdentifiers)
                guard applied.count > before.count else { throw error }
            }
        }
    }

    /// The migrations that the journal has. GRDB reads its table first and asks afterwards whether it exists: a process that creates
    /// the table in between makes that an error.
    private static func appliedIdentifiers(_ db: Database) throws -> Set<String> {
        try db.tableExists("grdb_migrations") ? migrator.appliedIdentifiers(db) : []
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("first release") { db in try db.execute(sql: firstRelease) }
        return migrator
    }

    /// `foldedName` is ``fold(_:)`` of the name: no two items have folders that differ only in case. `words` are of letters and
    /// digits, separated by spaces. `resultFile`, `measure`, `note` and `part` have what the result of an item holds; the words and values
    /// of a note are lists in JSON. `mark`, `edit` and `text` belong to the name of an item.
    private static let firstRelease = """
        CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE item (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL UNIQUE,
            foldedName TEXT NOT NULL UNIQUE,
            recipe INTEGER NOT NULL,
            model TEXT NOT NULL,
            source TEXT NOT NULL,
            path TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            words TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT,
            code TEXT,
            stage TEXT,
            crashes INTEGER NOT NULL,
            changed TEXT
        );
        CREATE TABLE input (
            item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
            number INTEGER NOT NULL,
            path TEXT NOT NULL,
            size INTEGER,
            seconds INTEGER,
            nanoseconds INTEGER,
            touched INTEGER,
            PRIMARY KEY (item, number)
        ) WITHOUT ROWID;
        CREATE TABLE resultFile (
            item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
            number INTEGER NOT NULL,
            path TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            sha256 TEXT NOT NULL,
            PRIMARY KEY (item, number)
        ) WITHOUT ROWID;
        CREATE TABLE measure (
            item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
            number INTEGER NOT NULL,
            label TEXT NOT NULL,
            measure TEXT NOT NULL,
            value REAL,
            unit TEXT NOT NULL,
            PRIMARY KEY (item, number)
        ) WITHOUT ROWID;
        CREATE TABLE note (
            item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
            number INTEGER NOT NULL,
            code TEXT NOT NULL,
            words TEXT NOT NULL,
            "values" TEXT,
            PRIMARY KEY (item, number)
        ) WITHOUT ROWID;
        CREATE TABLE part (
            item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
            number INTEGER NOT NULL,
            id INTEGER NOT NULL,
            kind TEXT NOT NULL,
            state TEXT NOT NULL,
            thumbnail TEXT,
            reason TEXT,
            texts TEXT,
            PRIMARY KEY (item, number)
        ) WITHOUT ROWID;
        CREATE TABLE mark (
            item TEXT NOT NULL,
            object TEXT,
            rater TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            verdict TEXT NOT NULL,
            comment TEXT NOT NULL,
            time TEXT NOT NULL
        );
        CREATE UNIQUE INDEX markOfRater ON mark (item, ifnull(object, ''), rater);
        CREATE TABLE edit (
            item TEXT PRIMARY KEY,
            baseFingerprint TEXT NOT NULL,
            file TEXT NOT NULL,
            sha256 TEXT NOT NULL,
            time TEXT NOT NULL
        );
        CREATE TABLE text (
            item TEXT NOT NULL,
            object INTEGER NOT NULL,
            number INTEGER NOT NULL,
            fingerprint TEXT NOT NULL,
            field TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (item, object, number)
        ) WITHOUT ROWID;
        """

    /// What the search of the inputs finds, in the connection's own temporary database: nothing of it is flushed, and SQLite
    /// moves it to a temporary file when it outgrows the cache.
    ///
    /// - `file`: one row for each file. `sort` is its path in one Unicode form; device and inode are missing where only another
    ///   file lists it.
    /// - `claim`: which recipe makes items of which file, and of which others together; without a family for a file that
    ///   belongs to another one.
    /// - `unclaimed`: the files that no recipe has a use for, and why.
    /// - `found`: one row for each item of each recipe, in any order. `objection` states why its model must not process it.
    /// - `foundInput`: the source files of each, which go with it: SQLite gives the number of a removed row again.
    /// - `work`: what is done about each found item, in the order of discovery. `action` is 0 for nothing, 1 for processing, 2
    ///   for processing it alone, 3 once it was taken out of its turn; `isNews` is 1 where the state is reported although
    ///   nothing is done.
    /// - `taken`: the files of found items in the places of items that were not found.
    /// - `planned`: what a plan shows of each.
    /// - `division`: the items that are divided into shards, and the number of the shard of each.
    /// - `naming`: the names that the found items are to have, while names are given.
    /// - `repeated`: the stems of names that several items would have.
    static let temporaryTables = """
        CREATE TEMP TABLE file (
            number INTEGER PRIMARY KEY,
            path TEXT NOT NULL,
            name TEXT NOT NULL,
            root TEXT NOT NULL,
            sort TEXT NOT NULL UNIQUE,
            device INTEGER,
            inode INTEGER
        );
        CREATE TEMP TABLE claim (
            recipe INTEGER NOT NULL,
            family TEXT,
            file INTEGER NOT NULL,
            isUnresponsive INTEGER NOT NULL
        );
        CREATE TEMP TABLE unclaimed (file INTEGER PRIMARY KEY, code TEXT NOT NULL, reason TEXT NOT NULL);
        CREATE TEMP TABLE found (
            number INTEGER PRIMARY KEY,
            recipe INTEGER NOT NULL,
            rank INTEGER NOT NULL,
            sort TEXT NOT NULL,
            key TEXT NOT NULL,
            name TEXT NOT NULL,
            suffix TEXT NOT NULL,
            model TEXT NOT NULL,
            source TEXT NOT NULL,
            path TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            words TEXT NOT NULL,
            problem TEXT,
            code TEXT,
            reason TEXT,
            stage TEXT,
            objection TEXT
        );
        CREATE TEMP TABLE foundInput (
            found INTEGER NOT NULL,
            number INTEGER NOT NULL,
            path TEXT NOT NULL,
            size INTEGER,
            seconds INTEGER,
            nanoseconds INTEGER,
            touched INTEGER,
            PRIMARY KEY (found, number)
        ) WITHOUT ROWID;
        CREATE TEMP TRIGGER removedInputs AFTER DELETE ON found
            BEGIN DELETE FROM foundInput WHERE found = OLD.number; END;
        CREATE TEMP TABLE work (
            place INTEGER PRIMARY KEY,
            found INTEGER NOT NULL,
            item INTEGER,
            action INTEGER NOT NULL DEFAULT 0,
            isEdited INTEGER NOT NULL DEFAULT 0,
            isNews INTEGER NOT NULL DEFAULT 0
        );
        CREATE TEMP TABLE naming (
            place INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            name TEXT NOT NULL,
            folded TEXT NOT NULL,
            stem TEXT NOT NULL,
            isQualified INTEGER NOT NULL DEFAULT 0
        );
        CREATE TEMP TABLE planned (
            place INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            name TEXT NOT NULL,
            path TEXT NOT NULL,
            recipe INTEGER NOT NULL,
            isGood INTEGER NOT NULL,
            state TEXT NOT NULL,
            peakBytes INTEGER,
            steps INTEGER,
            isLean INTEGER NOT NULL,
            otherSeconds REAL,
            problem TEXT
        );
        CREATE TEMP TABLE taken (
            model TEXT NOT NULL,
            base TEXT NOT NULL,
            path TEXT NOT NULL,
            PRIMARY KEY (model, base, path)
        ) WITHOUT ROWID;
        CREATE TEMP TABLE division (
            place INTEGER PRIMARY KEY,
            seconds REAL NOT NULL,
            bytes INTEGER NOT NULL,
            shard INTEGER
        );
        CREATE TEMP TABLE repeated (stem TEXT PRIMARY KEY) WITHOUT ROWID;
        """

    /// A text as names are compared: upper and lower case are the same, as are the Unicode forms of a letter.
    static func fold(_ text: String) -> String { canonical(text.lowercased()) }

    /// One Unicode form of a text: what is equal as Swift's strings is equal to SQLite, too.
    static func canonical(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 128 } ? text : text.precomposedStringWithCanonicalMapping
    }
}
