import Foundation
import NocturneBatch
import NocturneCore
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

/// A network that labels what is above 0.5, on grids whose size the package fixes.
@Suite("Grids of a fixed size")
struct GridSizeTests {
    private func bench(_ size: [Int]?) throws -> BatchBench {
        let bench = try BatchBench { folder in
            try PackageBuilder.variant(of: "Models/threshold", in: folder) { _, section in
                section["spacing"] = NSNull()
                section["size"] = size.map { $0 as Any } ?? NSNull()
                let rule: [String: Any] = ["method": "spline", "order": 1, "separateZ": "never"]
                section["resampling"] = ["image": rule, "logits": rule]
            }
        }
        try bench.addBox("box.nii", affine: .scaling(SIMD3(1, 2, 3)))
        return bench
    }

    private func labels(_ size: [Int]?) async throws -> [UInt16] {
        let bench = try bench(size)
        #expect(try await bench.run().counts.completed == 1)
        return try bench.labels("box")
    }

    @Test("Twice the voxels along an axis give the same box, and so does the volume's own size")
    func box() async throws {
        // 24 × 18 × 20 voxels, in the order z, y, x.
        let own = try await labels(nil)
        #expect(own.count { $0 == 1 } == 8 * 8 * 8)
        for size in [[24, 18, 20], [48, 18, 40], [48, 36, 40], [48]] {
            #expect(try await labels(size) == own, "\(size)")
        }
        // A voxel of the grid is four of the volume along z, and the box from 4 to 12 is two of them.
        #expect(try await labels([6, 18, 20]) == own)
    }

    @Test("The grid has the size whatever the spacing is; one number is its longest axis")
    func tiles() throws {
        func tiles(_ size: [Int]?) throws -> Int {
            let bench = try bench(size)
            FileSystem.remove(bench.input + "/box.nii")
            try bench.addBox("v.nii", shape: VolumeShape(x: 40, y: 80, z: 20))
            let recipe = try bench.recipe()
            let found = try recipe.search(DiscoveryRequest(inputs: [bench.input])).items
            return try recipe.plan(source: #require(found.first).source, threads: 2, lean: false).steps
        }
        // Tiles of 16, half a tile apart.
        #expect(try tiles([16, 16, 16]) == 1)
        #expect(try tiles([16, 32, 24]) == 1 * 3 * 2)
        // 8 × 32 × 16.
        #expect(try tiles([32]) == 1 * 3 * 1)
    }
}
