import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturnePhotos
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Synchronization
import Testing

/// Volumes, photos to be classified and photos to be taken apart in one batch.
private struct MixedBench {
    private let volumes: BatchBench
    private let photos: PhotoBench
    private let shelves: ShelfBench

    /// Three of each kind.
    init() throws {
        volumes = try BatchBench()
        photos = try PhotoBench("primary")
        shelves = try ShelfBench()
        for index in 0..<3 {
            try volumes.addBox("v\(index).nii", shape: VolumeShape(x: 30, y: 30, z: 40 + index))
            try photos.add("p\(index).png", SIMD3(UInt8(200 - 20 * index), 60, 40))
            try shelves.add("s\(index).png", books: [.init(x: 10 + 20 * index, y: 20, width: 20, height: 60)])
        }
    }

    /// 3 volumes, and 6 pictures for each of two models.
    static let count = 15
    var output: OutputFolder { volumes.output }
    var whole: OutputFolder { OutputFolder(volumes.folder("whole").path) }

    @discardableResult
    func run(
        to output: OutputFolder? = nil,
        threads: Int = 2,
        observe: @escaping @Sendable (BatchEvent, RunControl) -> Void = { _, _ in }
    ) async throws -> BatchOutcome {
        let package = try ModelPackage.load(folder: shelves.model)
        let separator = try PhotoInstancesModel(
            ChosenModel(package: package, engine: BuiltinEngine(), precision: .float32)
        )
        let recipes: [any Recipe] = [
            try volumes.recipe(), try photos.recipe(),
            PhotoInstances(models: [separator], options: PhotoInstances.Options()),
        ]
        let batch = try BatchOptions(
            [:],
            models: [volumes.model, photos.models[0], shelves.model],
            inputs: [volumes.input, photos.input, shelves.input],
            output: output ?? self.output,
            threads: threads,
            memoryBytes: 2 << 30
        )
        return try await batch.run(recipes, observe: observe)
    }
}

@Suite("Stopping and going on with volumes and photos in one batch")
struct MixedResumeTests {
    @Test(
        "Cancelled as any item starts, a resumed batch ends as an undisturbed one",
        arguments: [1, 4, 8, 15]
    )
    func cancel(atStart number: Int) async throws {
        let bench = try MixedBench()
        #expect(try await bench.run(to: bench.whole, threads: 1).counts.completed == MixedBench.count)
        let first = try await bench.run(observe: cancelling(atStart: number))
        #expect(first.counts.completed < MixedBench.count)
        #expect(first.counts.notReached == MixedBench.count - first.counts.completed)
        let started = Mutex(0)
        let second = try await bench.run { event, _ in
            if event.event == .itemStarted { started.withLock { $0 += 1 } }
        }
        #expect(second.counts.completed == MixedBench.count)
        // What was committed is not done again.
        #expect(started.withLock { $0 } == MixedBench.count - first.counts.completed)
        #expect(try bench.output.tree() == bench.whole.tree())
    }

    @Test("Folders renamed into place but not journaled are recognised, whatever made them")
    func recognition() async throws {
        let bench = try MixedBench()
        try await bench.run()
        let before = try bench.output.tree()
        for suffix in ["", "-wal", "-shm"] { FileSystem.remove(bench.output.journal + suffix) }
        let started = Mutex(0)
        let outcome = try await bench.run { event, _ in
            if event.event == .itemStarted { started.withLock { $0 += 1 } }
        }
        #expect(outcome.counts.completed == MixedBench.count && started.withLock { $0 } == 0)
        #expect(try bench.output.tree() == before)
    }
}
