import Foundation
import NocturneBatch
import NocturneCore
import NocturneOutput
import NocturneTestSupport
import NocturneVolumes
import Testing

/// A network that labels every voxel it gets, so that the labels are the box to which the volume is cropped.
@Suite("Cropping")
struct CropTests {
    /// - Returns: the bounds of the labels; all voxels in them have one.
    private func cropped(_ keys: [String: Any]) async throws -> VoxelBox {
        let bench = try BatchBench { folder in
            try PackageBuilder.variant(of: "Models/threshold", in: folder) { document, section in
                let shift: [String: Any] = ["scheme": "linear", "mean": -100, "standardDeviation": 1]
                document["channels"] = [["name": "image", "normalization": shift] as [String: Any]]
                section["spacing"] = NSNull()
                section.merge(keys) { $1 }
            }
        }
        var boxes = Boxes(boxes: [
            (VoxelBox(lower: SIMD3(2, 3, 4), upper: SIMD3(30, 33, 40)), 1),
            (VoxelBox(lower: SIMD3(10, 12, 20), upper: SIMD3(20, 17, 24)), 5),
        ])
        boxes.affine = .scaling(SIMD3(1, 2, 3))
        try boxes.write(to: bench)
        #expect(try await bench.run().counts.completed == 1)
        let labels = try bench.labels("one")
        var found: VoxelBox?
        for index in labels.indices where labels[index] != 0 {
            let place = SIMD3(index % 40, index / 40 % 36, index / (40 * 36))
            let one = VoxelBox(lower: place, upper: place &+ 1)
            found = found?.union(one) ?? one
        }
        let box = try #require(found)
        #expect(labels.count { $0 != 0 } == box.shape.count)
        return box
    }

    @Test("The voxels that count are those that are not 0, or those above a value")
    func rule() async throws {
        #expect(try await cropped([:]) == VoxelBox(all: VolumeShape(x: 40, y: 36, z: 44)))
        #expect(
            try await cropped(["cropToNonzero": true]) == VoxelBox(lower: SIMD3(2, 3, 4), upper: SIMD3(30, 33, 40))
        )
        let inner = VoxelBox(lower: SIMD3(10, 12, 20), upper: SIMD3(20, 17, 24))
        #expect(try await cropped(["cropAbove": 1]) == inner)
    }

    @Test("The normalized image is cropped where the package says so, on the networks' grid")
    func afterNormalization() async throws {
        // Voxels are 100 more than those of the file.
        let keys: [String: Any] = ["cropAbove": 103, "cropAfterNormalization": true]
        #expect(try await cropped(keys) == VoxelBox(lower: SIMD3(10, 12, 20), upper: SIMD3(20, 17, 24)))
        #expect(
            try await cropped(keys.merging(["marginVoxels": 2]) { $1 })
                == VoxelBox(lower: SIMD3(8, 10, 18), upper: SIMD3(22, 19, 26))
        )
        // Half a voxel along x: the margin is one voxel of the file there.
        #expect(
            try await cropped(keys.merging(["marginVoxels": 2, "spacing": [3, 2, 0.5]]) { $1 })
                == VoxelBox(lower: SIMD3(9, 10, 18), upper: SIMD3(21, 19, 26))
        )
        // Nothing is above it.
        #expect(
            try await cropped(["cropAbove": 200, "cropAfterNormalization": true])
                == VoxelBox(all: VolumeShape(x: 40, y: 36, z: 44))
        )
    }

    @Test("The margin is the sum of mm, voxels and a share of the extent, up to the border")
    func margin() async throws {
        func box(_ lower: SIMD3<Int>, _ upper: SIMD3<Int>) -> VoxelBox { VoxelBox(lower: lower, upper: upper) }
        let (above, nonzero) = (["cropAbove": 1] as [String: Any], ["cropToNonzero": true] as [String: Any])
        // 5 mm are 5, 2 and 1 voxels.
        #expect(try await cropped(above.merging(["marginMm": 5]) { $1 }) == box(SIMD3(5, 10, 19), SIMD3(25, 19, 25)))
        #expect(
            try await cropped(above.merging(["marginVoxels": 2]) { $1 }) == box(SIMD3(8, 10, 18), SIMD3(22, 19, 26))
        )
        // Of 10, 5 and 4 voxels.
        #expect(
            try await cropped(above.merging(["marginShare": 0.25]) { $1 }) == box(SIMD3(8, 11, 19), SIMD3(22, 18, 25))
        )
        let all: [String: Any] = ["marginMm": 5, "marginVoxels": 2, "marginShare": 0.25]
        #expect(try await cropped(above.merging(all) { $1 }) == box(SIMD3(1, 7, 16), SIMD3(29, 22, 28)))
        #expect(
            try await cropped(nonzero.merging(["marginVoxels": 4]) { $1 }) == box(SIMD3(0, 0, 0), SIMD3(34, 36, 44))
        )
    }
}
