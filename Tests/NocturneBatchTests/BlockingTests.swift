import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
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
        #expect(found.map(\.call) == ["open", "fsync", "stat", "open", "fstatat", "unlinkat"])
        #expect(found.map(\.path) == [file, file, file, folder.path, "a", "a"])
    }

    @Test("The check lets pools, the journal and tasks beside it do their work")
    func unseen() async throws {
        let folder = try TemporaryFolder("blocking")
        let file = try folder.write("x", to: "a").path
        let path = folder("journal.sqlite").path
        let pool = try BlockingPool(width: 1)
        defer { pool.shutdown() }
        async let beside: Void = { for _ in 0..<100 { _ = try FileSystem.read(file) } }()
        let found = try await BlockingCheck.violations {
            _ = try await pool.run { try FileSystem.read(file) }
            try await Journal.with(path: path) { journal in
                try await journal.set(.reportVersion, to: 1)
                let item = DiscoveredItem(key: "a", name: "a", model: "", path: file, fingerprint: .of("a"))
                try await journal.record([JournalEntry(item, name: "a", state: .pending)])
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

    @Test("A whole batch and its continuation make no such call")
    func batch() async throws {
        let bench = try TextBatch(["a": "one", "b": "two", "c": "three"])
        let recipe = TextRecipe { stage, name in
            if stage == .load, name == "a" { throw FileSystemError(operation: "read", path: "a", code: 1) }
        }
        var found = try await BlockingCheck.violations {
            let outcome = try await bench.run(recipe) { $0.createsOutput = false }
            #expect(outcome.counts.failed == 1)
        }
        try bench.write("d", "four")
        let again = bench.again()
        found += try await BlockingCheck.violations {
            let outcome = try await again.run(TextRecipe()) { $0.createsOutput = false }
            #expect(outcome.counts.completed == 3)
        }
        #expect(found == [])
    }
}
