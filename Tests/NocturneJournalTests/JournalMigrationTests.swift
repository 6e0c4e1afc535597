import Foundation
import GRDB
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

/// Journals of other versions, written here with their own statements.
@Suite("Journals of other versions")
struct JournalMigrationTests {
    /// The schema of 0.1.0, to the letter; `parts` was added shortly before that release.
    private func schema(hasParts: Bool) -> String {
        """
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
            changed TEXT\(hasParts ? ",\n    parts TEXT NOT NULL DEFAULT '[]'" : "")
        );
        """
    }

    /// A journal of 0.1.0 with one completed and one interrupted item.
    private func oldJournal(_ path: String, hasParts: Bool) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try queue.write { db in
            try db.execute(sql: schema(hasParts: hasParts))
            try db.execute(
                sql: """
                    INSERT INTO item (id, key, name, source, path, fingerprint, state, reason, deaths, notes, statistics,
                        files, changed) VALUES
                    (1, 'photo:/in/a', 'a', '{}', '/in/a', 'aa', 'completed', NULL, 0, '["blurred"]',
                        '[{"label":"x","measure":"volume","unit":"ml","value":1.5}]',
                        '[{"bytes":3,"path":"result.json","sha256":"00"}]', '2026-01-01T00:00:00.000Z'),
                    (2, 'photo:/in/b', 'b', '{}', '/in/b', 'bb', 'started', 'signal 9', 1, '[]', '[]', '[]', NULL);
                    INSERT INTO setting VALUES ('supervisor', 'abc-1'), ('accounted', 'yes'), ('deathsOutsideItems', '2'),
                        ('pace', '{"secondsPerStep":{"organs":0.5}}'), ('silent', '["/in/c"]'),
                        ('poison', '{"suspects":[["/in/d"]],"reasons":{"/in/e":"why"}}');
                    """
            )
            if hasParts {
                let parts = #"[{"id":1,"kind":"book","state":"ready","thumbnail":"crops/1.png"}]"#
                try db.execute(sql: "UPDATE item SET parts = ? WHERE id = 1", arguments: [parts])
            }
        }
        try queue.close()
    }

    @Test("A journal of 0.1.0 opens with all it holds, is changed, and opens again", arguments: [false, true])
    func version010(hasParts: Bool) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try oldJournal(path, hasParts: hasParts)
            try await Journal.with(path: path) { journal in
                let items = try await journal.items()
                #expect(items.map(\.state) == [.completed, .started] && items.map(\.crashes) == [0, 1])
                #expect(items[0].notes == ["blurred"] && items[1].reason == ItemReason(.notRecorded, "signal 9"))
                #expect(
                    try await journal.filesOfItems() == [1: [ItemFile(path: "result.json", bytes: 3, sha256: "00")]]
                )
                let (statistics, parts) = (try await journal.statistics(), try await journal.parts())
                #expect(statistics[1]?.first?.value == 1.5)
                #expect(parts[1]?.first?.thumbnail == (hasParts ? "crops/1.png" : nil))
                #expect(try await journal.value(of: .supervisor) == "abc-1")
                #expect(try await journal.value(of: .isReportUpToDate) == true)
                #expect(try await journal.value(of: .crashesOutsideItems) == 2)
                #expect(try await journal.pace().seconds(model: "organs", steps: 4) == 2)
                #expect(try await journal.value(of: .unresponsiveFiles) == ["/in/c"])
                let crashing = try await journal.value(of: .crashingFiles)
                #expect(crashing?.suspects == [["/in/d"]] && crashing?.reasons == ["/in/e": "why"])
                let part = ItemPart(id: 1, kind: "book", state: .failed, thumbnail: nil, reason: "r")
                let product = ItemProduct(files: [], statistics: [], notes: [], parts: [part])
                try await journal.complete([(id: 2, product: product)], at: "now")
            }
            try await Journal.with(path: path) { journal in
                let (items, parts) = (try await journal.items(), try await journal.parts())
                #expect(items.map(\.state) == [.completed, .completed])
                #expect(parts[2]?.first?.state == .failed)
            }
        }
    }

    @Test("What 0.1.0 reads of settings is written as 0.1.0 wrote it")
    func settingsForms() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.with(path: path) { journal in
                try await journal.set(.supervisor, to: "abc-1")
                try await journal.set(.isReportUpToDate, to: true)
                try await journal.set(.crashesOutsideItems, to: 2)
                try await journal.set(.unresponsiveFiles, to: ["/in/c"])
            }
            let rows = try await DatabaseQueue(path: path).read { db in
                try Row.fetchAll(db, sql: "SELECT key, value FROM setting")
                    .map { row -> (String, String) in (row["key"], row["value"]) }
            }
            let expected = [
                "supervisor": "abc-1", "accounted": "yes", "deathsOutsideItems": "2", "silent": "[\"/in/c\"]",
            ]
            #expect(Dictionary(uniqueKeysWithValues: rows) == expected)
        }
    }

    @Test("A journal that a newer version has changed is refused by name, and left as it is")
    func newer() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal(path: path).close()
            let queue = try DatabaseQueue(path: path)
            let own = try await queue.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM grdb_migrations") ?? 0 }
            try await queue.write { db in
                try db.execute(sql: "INSERT INTO grdb_migrations VALUES ('shards of the batch')")
            }
            await #expect { try await Journal(path: path) } throws: {
                ($0 as? JournalError)?.code == .newerSchema && "\($0)".contains("shards of the batch")
                    && "\($0)".hasPrefix(path)
            }
            let names = try await queue.read { try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations") }
            #expect(names.count == own + 1)
            try queue.close()
        }
    }

    @Test("Two processes may open a new journal at the same time")
    func together() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { try await Journal.with(path: path) { _ = try await $0.items() } }
                }
                try await group.waitForAll()
            }
        }
    }
}
