import NocturneBatch
import NocturneCore
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Label maps among the scans")
struct LabelMapAmongScansTests {
    private static let shape = VolumeShape(x: 32, y: 32, z: 32)

    /// - Parameter value: of the voxel at i, j, k.
    private func values(_ shape: VolumeShape, _ value: (Int, Int, Int) -> Float) throws -> LabelMapValues? {
        var voxels = try VoxelBuffer<Float>(count: shape.count)
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x { voxels[shape.offset(i, j, k)] = value(i, j, k) }
            }
        }
        let volume = Volume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: voxels.frozen())
        return try LabelMapValues(volume, flag: CancellationFlag())
    }

    @Test("Regions of whole numbers are a label map, and so is a mask with thin lines")
    func maps() throws {
        func label(_ i: Int, _ j: Int, _ k: Int) -> Float {
            let place: Int = 1 + i / 8 + 4 * (j / 8) + 100 * (k / 16)
            return i < 4 ? 0 : Float(place)
        }
        let found = try #require(try values(Self.shape, label))
        #expect(found.count == 33 && found.highest == 116)
        func line(_ i: Int, _ j: Int, _: Int) -> Float { i % 4 == 0 || j % 4 == 0 ? 255 : 0 }
        #expect(try values(Self.shape, line)?.highest == 255)
    }

    @Test("Noise of 256 grey values, also enlarged, gradients, other numbers and small files are not")
    func scans() throws {
        var random = SplitMix64(seed: 7)
        let noise = (0..<Self.shape.count).map { _ in Float(random.next() & 255) }
        let others: [(Int, Int, Int) -> Float] = [
            { i, j, k in noise[Self.shape.offset(i, j, k)] },
            { i, j, k in noise[Self.shape.offset(i / 2, j / 2, k / 2)] },
            { _, j, _ in Float(j) }, { i, _, _ in i < 8 ? 0 : -1000 }, { i, _, _ in i < 8 ? 0 : 0.5 }, { _, _, _ in 7 },
        ]
        for value in others { #expect(try values(Self.shape, value) == nil) }
        #expect(try values(VolumeShape(x: 32, y: 32, z: 31), { i, _, _ in i < 8 ? 0 : 1 }) == nil)
    }

    @Test("A mask is set aside with a reason and stays so; a model that takes values as they are processes it")
    func batch() async throws {
        let bench = try BatchBench(model: "NNUNet/models/A")
        try bench.addBox("mask.nii", shape: Self.shape, edge: 20)
        for _ in 0..<2 {
            let outcome = try await bench.run()
            #expect(outcome.counts.skipped == 1 && outcome.counts.inputs == 1)
            let reason = try await bench.reason("mask")
            #expect(
                reason?.contains("a label map, not a scan (its only values are 0 and 1)") == true,
                "\(reason ?? "")"
            )
        }
        let asTheyAre = try BatchBench()
        try asTheyAre.addBox("mask.nii", shape: Self.shape, edge: 20)
        #expect(try await asTheyAre.run().counts.completed == 1)
    }
}
