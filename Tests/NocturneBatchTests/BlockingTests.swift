import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

/// Nothing that may wait for a disk runs on the threads that all tasks share.
@Suite("Nothing blocks an actor")
struct BlockingTests {
    private actor Careless {
        func flush(_ path: String) throws { try FileSystem.flush(path) }
        func remove(_ path: String) { FileSystem.remove(path) }
    }

    @Test("The check sees file work in an actor, in a task and across a suspension")
    func seen() async throws {
        let folder = try TemporaryFolder("blocking")
        let file = try folder.write("x", to: "a").path
        let careless = Careless()
        let found = await BlockingCheck.violations {
            try? await careless.flush(file)
            await Task { _ = FileSystem.size(file) }.value
            await Task.yield()
            await careless.remove(file)
        }
        #expect(found.map(\.call) == ["open", "fsync", "stat", "unlink"])
        #expect(found.filter { $0.call != "fsync" }.allSatisfy { $0.path == file })
    }

    @Test("The check lets pools, the journal and tasks beside it do their work")
    func unseen() async throws {
        let folder = try TemporaryFolder("blocking")
        let file = try folder.write("x", to: "a").path
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        async let beside: Void = { for _ in 0..<100 { _ = try FileSystem.read(file) } }()
        let found = try await BlockingCheck.violations {
            _ = try await pool.run { try FileSystem.read(file) }
            try await Journal.with(path: folder("journal.sqlite").path) { journal in
                try await journal.set(.supervisor, to: "s")
                let entry = JournalEntry(key: "a", name: "a", source: "", path: file, fingerprint: "", state: .pending)
                try await journal.record([entry])
                try await journal.complete(
                    [(id: 1, product: ItemProduct(files: [], statistics: [], notes: []))],
                    at: "now"
                )
                _ = try await journal.items()
            }
        }
        try await beside
        #expect(found == [])
    }

    @Test("A whole batch, its continuation and its verification make no such call")
    func batch() async throws {
        let bench = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let calls = Mutex(0)
        let found = try await BlockingCheck.violations {
            let recipe = TextRecipe { stage, name in
                // One failure that is tried again, and one that stays.
                guard stage == .load, name == "a" else { return }
                if calls.withLock({ calls in (calls += 1, calls).1 }) > 0 {
                    throw FileSystemError(operation: "read", path: "a", code: 1)
                }
            }
            #expect(try await bench.run(recipe).counts.failed == 1)
            try await bench.write("d", "four")
            #expect(try await bench.again().run(TextRecipe()).counts.completed == 3)
        }
        for violation in Set(found.map(\.description)) { print("BLOCKS:", violation) }
        #expect(found.isEmpty)
    }
}
