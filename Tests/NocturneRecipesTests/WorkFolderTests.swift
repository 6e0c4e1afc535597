import Foundation
import NocturneBatch
import NocturneCore
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("A folder for work on another disk")
struct WorkFolderTests {
    private func bench(items: Int) throws -> BatchBench {
        let bench = try BatchBench(model: "Models/classes-4")
        for index in 0..<items { try bench.addBox("v\(index).nii", shape: VolumeShape(x: 40, y: 40, z: 80 + index)) }
        try FileSystem.makeFolder(bench.folder("work").path)
        return bench
    }

    /// Runs until an item starts, and is cancelled then.
    private func interrupt(_ bench: BatchBench, atStart number: Int, work: String?) async throws {
        let seen = Mutex(0)
        _ = try await bench.run(work: work) { event, control in
            guard event.event == .itemStarted else { return }
            let count = seen.withLock { seen in
                seen += 1
                return seen
            }
            if count == number { control.cancel() }
        }
    }

    @Test("The results are those of a run without one, with interruptions too, and nothing is left in it")
    func results() async throws {
        let bench = try bench(items: 4)
        let work = bench.folder("work").path
        let whole = OutputFolder(bench.folder("whole").path)
        try await bench.run(output: whole)
        try await interrupt(bench, atStart: 2, work: work)
        try await interrupt(bench, atStart: 1, work: nil)
        let outcome = try await bench.run(work: work)
        #expect(outcome.counts.completed == 4)
        #expect(try bench.tree() == bench.tree(whole))
        #expect(FileSystem.entries(work).isEmpty)
        #expect(FileSystem.files(below: bench.output.hidden).allSatisfy { !$0.contains("arrived/") })
        // A result is replaced by another one, and files of others in its folder stay.
        try FileSystem.write(bench.output.item("v0") + "/note.txt", Array("mine".utf8))
        try bench.addBox("v0.nii", shape: VolumeShape(x: 40, y: 40, z: 90))
        let again = try await bench.run(work: work)
        #expect(again.counts.completed == 4)
        #expect(try FileSystem.read(bench.output.item("v0") + "/note.txt") == Array("mine".utf8))
        #expect(FileSystem.entries(work).isEmpty)
    }

    @Test("Checkpoints are taken along: into the folder, and on to the next run in it")
    func checkpoints() throws {
        let folder = try TemporaryFolder()
        for name in ["out", "work"] { try FileSystem.makeFolder(folder(name).path) }
        var output = OutputFolder(folder("out").path)
        try output.create()
        try FileSystem.makeFolder(output.staging("a"))
        try FileSystem.write(output.staging("a") + "/checkpoint", [1, 2, 3])
        let before = output.staging
        output.work = folder("work").path
        try output.prepareStaging(before: OutputFolder.firstStaging)
        #expect(try FileSystem.read(output.staging("a") + "/checkpoint") == [1, 2, 3])
        #expect(FileSystem.kind(before) == .nothing)
        try FileSystem.write(output.staging("a") + "/checkpoint", [4])
        try output.prepareStaging(before: OutputFolder.firstStaging)
        #expect(try FileSystem.read(output.staging("a") + "/checkpoint") == [4])
        // A run on another machine has taken the batch over meanwhile.
        output.stagingName = OutputFolder.stagingName(recorded: nil, takenOver: 2)
        try output.prepareStaging(before: OutputFolder.firstStaging)
        #expect(try FileSystem.read(output.staging("a") + "/checkpoint") == [4])
        #expect(FileSystem.entries(folder("work").path) == ["staging-2"])
    }

    @Test("A folder that is not there, and one that holds something else of the name, is refused with its path")
    func refused() async throws {
        let bench = try bench(items: 1)
        let missing = bench.folder("missing").path
        let error = await #expect(throws: BatchError.self) { try await bench.run(work: missing) }
        #expect(error?.code == .workUnusable && error?.path == missing)
        // Somebody else has put a link where the folder would be.
        let work = bench.folder("work").path
        let name = "nocturne-" + ContentDigest.of(bench.output.hidden).hex.prefix(16)
        try FileManager.default.createSymbolicLink(atPath: work + "/" + name, withDestinationPath: bench.input)
        let planted = await #expect(throws: BatchError.self) { try await bench.run(work: work) }
        #expect(planted?.code == .workUnusable)
        #expect(FileSystem.entries(bench.input) == ["v0.nii"])
        #expect(try await bench.run().counts.completed == 1)
    }
}
