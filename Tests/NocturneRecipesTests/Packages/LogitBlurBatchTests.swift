import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneTestSupport
import NocturneVolumes
import Testing

/// Networks whose logits are x and 0.5 (threshold), or made of x for four classes, with a filter of the blended logits.
@Suite("Packages that blur logits")
struct LogitBlurBatchTests {
    private func bench(_ model: String = "Models/threshold", blur: [Double]?, _ keys: [String: Any] = [:]) throws
        -> BatchBench
    {
        try BatchBench { folder in
            try PackageBuilder.variant(of: model, in: folder) { _, section in
                section["spacing"] = NSNull()
                section["logitBlur"] = blur.map { $0 as Any } ?? NSNull()
                section.merge(keys) { $1 }
            }
        }
    }

    /// A box of ones from 4 to 12 and a single voxel of 1 far from it.
    private func labels(blur: [Double]?) async throws -> [UInt16] {
        let bench = try bench(blur: blur)
        try bench.addBox("box.nii")
        #expect(try await bench.run().counts.completed == 1)
        return try bench.labels("box")
    }

    @Test("The filter comes before the label is chosen: what is thin vanishes, and a straight edge stays")
    func labels() async throws {
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        let (sharp, blurred) = (try await labels(blur: nil), try await labels(blur: [1, 1, 1]))
        #expect(sharp.count { $0 == 1 } == 8 * 8 * 8)
        // Corners are cut, the middles of the sides are where they were.
        #expect(blurred[shape.offset(4, 4, 4)] == 0 && blurred[shape.offset(8, 8, 4)] == 1)
        #expect(blurred[shape.offset(8, 8, 3)] == 0 && blurred[shape.offset(4, 8, 8)] == 1)
        #expect(try await labels(blur: [0, 0, 0]) == sharp)
        // Along z only, no corner is cut.
        #expect(try await labels(blur: [1, 0, 0]) == sharp)
    }

    @Test("A padded margin has logits of zeros beyond the border, and the volume keeps its grid")
    func paddedMargin() async throws {
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        let keys: [String: Any] = [
            "cropToNonzero": true, "cropAfterNormalization": true, "marginVoxels": 3, "padMargin": true,
        ]
        let bench = try bench(blur: [1, 1, 1], keys)
        try Boxes(shape: shape, boxes: [(VoxelBox(all: shape), 1)]).write(to: bench)
        #expect(try await bench.run().counts.completed == 1)
        let weights = (-4...4).map { exp(-Double($0 * $0) / 2) }
        func inside(_ place: Int, _ size: Int) -> Double {
            let kept = (-4...4).filter { (0..<size).contains(place + $0) }.map { weights[$0 + 4] }
            return kept.reduce(0, +) / weights.reduce(0, +)
        }
        let labels = try bench.labels("one")
        let expected = labels.indices.map { index in
            let place = SIMD3(index % 20, index / 20 % 18, index / (20 * 18))
            let logit = (0..<3).reduce(1.0) { $0 * inside(place[$1], shape[$1]) }
            return UInt16(logit > 0.5 ? 1 : 0)
        }
        #expect(labels == expected)
        #expect(expected.contains(0) && expected.contains(1))
    }

    /// As `Boxes.ramp`, between planes of zeros. Of the four rows of tiles, the first need not run again once three are done.
    private static let bands = Boxes(
        shape: VolumeShape(x: 40, y: 36, z: 80),
        boxes: (0..<40).map {
            (VoxelBox(lower: SIMD3($0, 2, 5), upper: SIMD3($0 + 1, 33, 77)), Float($0 % 7 + 1))
        }
    )

    @Test("A volume that is cancelled among its tiles continues with the same bytes, of one network and of an ensemble")
    func resuming() async throws {
        let single = try bench("Models/classes-4", blur: [1, 1, 0.5], ["patchSize": [32, 32, 32]])
        let program = try BatchBench {
            try ProgramBuilder(
                labels: [(value: 1, name: "outer")],
                section: #"{"parts": [{"packages": ["parts/low", "parts/high"], "labels": {"1": 1}}]}"#,
                logitBlur: [1.5, 1, 1]
            ).write(into: $0)
        }
        let cropped = try bench(
            "Models/classes-4",
            blur: [1, 1, 0.5],
            [
                "patchSize": [32, 32, 32], "cropToNonzero": true, "cropAfterNormalization": true, "marginVoxels": 8,
                "padMargin": true,
            ]
        )
        for bench in [single, program, cropped] {
            try Self.bands.write(to: bench)
            let whole = OutputFolder(bench.folder("whole").path)
            let undisturbed = CountingEngine()
            try await bench.run(output: whole, engine: undisturbed)
            let control = RunControl()
            let tiles = undisturbed.runs
            let first = CountingEngine { if $0 == tiles * 7 / 8 { control.cancel() } }
            #expect(try await bench.run(engine: first, control: control).counts.completed == 0)
            let second = CountingEngine()
            #expect(try await bench.run(threads: 1, engine: second).counts.completed == 1)
            #expect(second.runs < tiles)
            #expect(try bench.tree() == bench.tree(whole))
        }
    }

    @Test("The plan of memory counts the planes of the filter")
    func memory() throws {
        func bytes(_ blur: [Double]?) throws -> Int? {
            let bench = try bench("Models/classes-4", blur: blur)
            try bench.addBox("v.nii", shape: VolumeShape(x: 40, y: 30, z: 50))
            let recipe = try bench.recipe()
            let found = try recipe.search(DiscoveryRequest(inputs: [bench.input])).items
            let plan = try recipe.plan(source: #require(found.first).source, threads: 2, lean: false)
            return plan.buffers.first { $0.name == "planes of blurred logits" }?.bytes
        }
        // Nine planes around a plane, two more, four classes of float32.
        #expect(try bytes([1, 2, 3]) == 11 * 4 * 40 * 30 * 4)
        #expect(try bytes(nil) == nil)
    }
}
