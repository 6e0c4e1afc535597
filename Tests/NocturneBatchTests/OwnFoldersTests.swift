import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneReport
import NocturneSystem
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// What is not of the batch stays where it is, also where the output folder leads to it.
@Suite("Links in the output folder")
struct OwnFoldersTests {
    /// A batch with results of `a` and `b`, and a folder of scans with the same names.
    private func bench() async throws -> TextBatch {
        let bench = try TextBatch(["a": "one", "b": "two"])
        _ = try await bench.run(TextRecipe())
        for path in ["scans/a/1.dcm", "scans/b/2.dcm", "scans/3.dcm"] { try bench.folder.write("scan", to: path) }
        return bench
    }

    private func scans(_ bench: TextBatch) -> FolderContents { FolderContents(of: bench.folder("scans").path) }

    private func forget(_ name: String, _ bench: TextBatch) async throws {
        _ = try await ItemRemoval(ReportRenewal(bench.output, page: NoPage())).remove { $0.name == name }
    }

    /// Finds nothing wrong.
    private struct NoInspection: ResultInspection {
        func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings { ResultFindings() }
        func inspectBatchFile(at path: String) -> String? { nil }
    }

    private func verifyCopy(_ output: OutputFolder) async throws {
        let pool = try ComputePool(width: 1)
        defer { pool.shutdown() }
        _ = try await BatchVerification(output, inspection: NoInspection()).runWithoutJournal(on: pool)
    }

    @Test(
        "in place of a folder of the batch stop every command before anything is touched",
        arguments: [
            ".nocturne/replaced", ".nocturne/edited", ".nocturne/staging", ".nocturne/staging-2", ".nocturne/arrived",
            ".nocturne/requests", ".nocturne/reading", ".nocturne/shards", ".nocturne/tasks", ".nocturne/times",
            ".nocturne/lock", ".nocturne/log", "kept", ".nocturne",
        ]
    )
    func ownFolders(name: String) async throws {
        let bench = try await bench()
        let place = bench.output.path + "/" + name
        FileSystem.remove(place)
        #expect(symlink(bench.folder("scans").path, place) == 0)
        let before = FolderContents(of: bench.folder.path)
        try bench.write("a", "another text")
        let changed = FolderContents(of: bench.folder.path)
        #expect(before != changed)
        for createsOutput in [false, true] {
            let error = await #expect(throws: BatchError.self) {
                try await bench.again().run(TextRecipe()) { $0.createsOutput = createsOutput }
            }
            #expect(error?.code == .linkInOutput && error?.path == place, "\(String(describing: error))")
        }
        let commands: [() async throws -> Void] = [
            { try await forget("a", bench) },
            { try bench.output.checkHoldsBatch() },
            { _ = try await bench.output.reading { try await $0.items() } },
            { _ = try BatchLock(bench.output) },
            { _ = try await ReportRenewal(bench.output, page: NoPage()).write() },
            { try await verifyCopy(bench.output) },
        ]
        for command in commands {
            let error = await #expect(throws: BatchError.self) { try await command() }
            #expect(error?.code == .linkInOutput && error?.detail.contains("Remove it") == true)
        }
        #expect(FolderContents(of: bench.folder.path) == changed)
    }

    @Test("in the folders of a shard stop it")
    func shards() throws {
        let folder = try TemporaryFolder()
        try folder.write("scan", to: "scans/1.dcm")
        try FileManager.default.createDirectory(at: folder("out/.nocturne/shards/1"), withIntermediateDirectories: true)
        let output = OutputFolder(folder("out").path)
        #expect(symlink(folder("scans").path, output.shards + "/2") == 0)
        #expect(symlink(folder("scans").path, output.shards + "/1/staging") == 0)
        for number in [1, 2] { #expect(throws: BatchError.self) { try output.shard(number).create() } }
        #expect(throws: Never.self) { try output.checkOwnFolders() }
    }

    @Test("in place of items are removed and replaced as links")
    func items() async throws {
        let bench = try await bench()
        let before = scans(bench)
        FileSystem.remove(bench.output.item("b"))
        #expect(symlink(bench.folder("scans").path, bench.output.item("b")) == 0)
        try await forget("b", bench)
        #expect(FileSystem.kind(bench.output.item("b")) == .nothing && scans(bench) == before)
    }

    @Test(
        "that cannot be removed with the result before: the run says so, and what they lead to stays",
        .enabled(if: ImmutableAttribute.isAvailable)
    )
    func leftover() async throws {
        let bench = try await bench()
        let notes = bench.output.item("a") + "/notes"
        try FileSystem.makeFolder(notes)
        #expect(symlink(bench.folder("scans").path, notes + "/scans") == 0)
        #expect(ImmutableAttribute.set(true, on: notes))
        let before = scans(bench)
        try bench.write("a", "another text")
        _ = try await bench.again().run(TextRecipe())
        let left = bench.output.hidden + "/replaced/a/notes"
        defer { ImmutableAttribute.set(false, on: left) }
        #expect(try bench.text("a") == "ANOTHER TEXT")
        #expect(scans(bench) == before && FileSystem.kind(notes + "/scans") == .other)
        #expect(try bench.events("note").contains { $0.contains("replaced/a/notes/scans: Operation not permitted") })

        // It hinders nothing, and goes when it can.
        try bench.write("a", "a third text")
        _ = try await bench.again().run(TextRecipe())
        #expect(try bench.text("a") == "A THIRD TEXT")
        ImmutableAttribute.set(false, on: left)
        _ = try await bench.again().run(TextRecipe())
        #expect(FileSystem.entries(bench.output.hidden + "/replaced").isEmpty && scans(bench) == before)
    }

    @Test(
        "that cannot be removed when an item is forgotten: an error names them, and the command can be repeated",
        .enabled(if: ImmutableAttribute.isAvailable)
    )
    func forgotten() async throws {
        let bench = try await bench()
        let notes = bench.output.item("a") + "/notes"
        try FileSystem.makeFolder(notes)
        #expect(symlink(bench.folder("scans").path, notes + "/scans") == 0)
        #expect(ImmutableAttribute.set(true, on: notes))
        defer { ImmutableAttribute.set(false, on: notes) }
        let before = scans(bench)
        let error = await #expect(throws: BatchError.self) { try await forget("a", bench) }
        #expect(error?.path == notes + "/scans" && error?.detail.contains("Remove it yourself") == true)
        #expect(scans(bench) == before)
        ImmutableAttribute.set(false, on: notes)
        try await forget("a", bench)
        #expect(FileSystem.kind(bench.output.item("a")) == .nothing && scans(bench) == before)
    }
}
