import Foundation
import GRDB
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Journals of other versions")
struct JournalMigrationTests {
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
            for journal in 0..<10 {
                let path = folder("\(journal).sqlite").path
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask { try await Journal.with(path: path) { _ = try await $0.items() } }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
}
