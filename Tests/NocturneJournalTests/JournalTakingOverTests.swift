import Foundation
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("A journal that another run takes over")
struct JournalTakingOverTests {
    private func entry(_ name: String) -> JournalEntry {
        let item = DiscoveredItem(key: "k" + name, name: name, model: "", path: "/in/" + name, fingerprint: .of(name))
        return JournalEntry(item, name: name, state: .pending)
    }

    @Test("What the run before writes late is in no file that counts")
    func lateWrites() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            let before = try await Journal(path: path)
            try await before.record([entry("a"), entry("b")])
            try await Journal.replaceFile(at: path)
            #expect(FileSystem.entries(folder.path) == ["journal.sqlite"])
            let after = try await Journal(path: path)
            #expect(try await after.items().map(\.name) == ["a", "b"])
            try await after.record([entry("c")])
            try? await before.record([entry("late")])
            await before.close()
            try await after.record([entry("d")])
            await after.close()
            try await Journal.with(path: path) { journal in
                let names = try await journal.items().map(\.name)
                #expect(names == ["a", "b", "c", "d"])
            }
        }
    }

    @Test("Who reads a journal that another machine writes has a copy, with what is in the log")
    func readElsewhere() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            let writer = try await Journal(path: path)
            try await writer.record([entry("a"), entry("b")])
            let files = FileSystem.entries(folder.path)
            try await Journal.with(path: path, readsCopy: { true }) { journal in
                let names = try await journal.items().map(\.name)
                #expect(names == ["a", "b"])
                // Nobody does this: it shows that the files are others.
                try await journal.record([entry("c")])
            }
            #expect(FileSystem.entries(folder.path) == files && files.count == 3)
            let names = try await writer.items().map(\.name)
            #expect(names == ["a", "b"])
            await writer.close()
        }
    }

    @Test("Where SQLite cannot make its files next to a journal, readers have a copy, and a change fails")
    func readWithoutRoom() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.with(path: path) { try await $0.record([entry("a"), entry("b")]) }
            // A name that is as long as can be: with "-wal" behind it there can be no file.
            let long = folder(String(repeating: "j", count: 254)).path
            try FileSystem.move(path, to: long)
            let names = try await Journal.with(path: long, readsCopy: { false }) { try await $0.items().map(\.name) }
            #expect(names == ["a", "b"])
            await #expect(throws: JournalError.self) {
                try await Journal.with(path: long) { try await $0.record([entry("c")]) }
            }
            #expect(FileSystem.entries(folder.path).count == 1)
        }
    }

    @Test("On a share one process has the journal, no memory is shared, and others read a copy, also after a crash")
    func share() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            // Written as on a local disk, and left as by a killed process.
            let before = try await Journal(path: path)
            try await before.record([entry("a")])
            await before.abandon()
            FileSystem.remove(path + "-shm")
            let crashed = folder("crashed").path
            try FileSystem.makeFolder(crashed)
            for name in ["journal.sqlite", "journal.sqlite-wal"] {
                try FileSystem.copy(folder(name).path, to: crashed + "/" + name)
            }
            let writer = try await Journal(path: crashed + "/journal.sqlite", isOnShare: true)
            try await writer.record([entry("b")])
            #expect(FileSystem.entries(crashed).sorted() == ["journal.sqlite", "journal.sqlite-wal"])
            let error = await #expect(throws: JournalError.self) {
                _ = try await Journal(path: crashed + "/journal.sqlite", isOnShare: true, lockPatience: { _ in false })
            }
            #expect(error?.systemCode == EAGAIN)
            try await Journal.with(path: crashed + "/journal.sqlite", readsCopy: { true }) { journal in
                let names = try await journal.items().map(\.name)
                #expect(names == ["a", "b"])
            }
            await writer.close()
            let again = try await Journal(path: crashed + "/journal.sqlite", isOnShare: false)
            let names = try await again.items().map(\.name)
            #expect(names == ["a", "b"])
            await again.close()
        }
    }

    @Test("A run whose journal belongs to another one cannot read it either")
    func readAfterLoss() async throws {
        try await TemporaryFolder.with { folder in
            let loss = CancellationFlag()
            let journal = try await Journal(
                path: folder("journal.sqlite").path,
                mayWrite: { !loss.isCancelled }
            )
            try await journal.record([entry("a")])
            loss.cancel()
            await #expect(throws: JournalError.self) { try await journal.items() }
        }
    }

    @Test("A folder without a journal gets none, and what is no journal stays as it is")
    func withoutJournal() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal.replaceFile(at: path)
            #expect(FileSystem.entries(folder.path).isEmpty)
            let text = Array("no database, but long enough to be taken for one by its length".utf8)
            try FileSystem.write(path, text)
            await #expect(throws: JournalError.self) { try await Journal.replaceFile(at: path) }
            #expect(try FileSystem.read(path) == text)
        }
    }

    @Test("A run that has lost the folder writes nothing more, and leaves the log to the other")
    func lost() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            let isOwn = Mutex(true)
            let journal = try await Journal(path: path, mayWrite: { isOwn.withLock { $0 } })
            try await journal.record([entry("a")])
            isOwn.withLock { $0 = false }
            let log = try FileSystem.read(path + "-wal")
            await #expect { try await journal.record([entry("b")]) } throws: {
                ($0 as? JournalError)?.code == .abandoned
            }
            isOwn.withLock { $0 = true }
            await #expect { try await journal.record([entry("b")]) } throws: {
                ($0 as? JournalError)?.code == .abandoned
            }
            await journal.close()
            #expect(try FileSystem.read(path + "-wal") == log)
        }
    }
}
