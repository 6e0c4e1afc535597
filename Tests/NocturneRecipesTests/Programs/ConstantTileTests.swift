import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Tiles of one value")
struct ConstantTileTests {
    /// Tiles of 16 voxels a side, 8 apart, along an axis of 64: seven. A box from 4 to 12 is in the first two of them.
    @Test("run through a network once, and the labels are those of the box", arguments: [false, true])
    func once(usesReferenceRounding: Bool) async throws {
        let bench = try BatchBench()
        let shape = VolumeShape(x: 64, y: 64, z: 64)
        try bench.addBox("one.nii.gz", shape: shape)
        let engine = CountingEngine()
        let options = try SegmentationOptions(given: [
            "meshes": "none", "preview": "none", "reference-rounding": usesReferenceRounding ? "yes" : "no",
        ])
        let outcome = try await bench.run(options, engine: engine)
        #expect(outcome.counts.completed == 1)
        #expect(engine.runs == 2 * 2 * 2 + 1)
        let found = try bench.labels("one")
        var wrong = 0
        for index in 0..<shape.count {
            let place = [index % shape.x, index / shape.x % shape.y, index / shape.sliceCount]
            let isInside = place.allSatisfy { (4..<12).contains($0) }
            if (found[index] == 1) != isInside { wrong += 1 }
        }
        #expect(wrong == 0)
    }
}
