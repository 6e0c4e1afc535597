import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The mask of the body")
struct ForegroundMaskTests {
    @Test("fills nnU-Net's enclosed hole and leaves its open corner")
    func worked() throws {
        let shape = VolumeShape(x: 5, y: 5, z: 5)
        var image = [Float](repeating: 0, count: 125)
        for k in 1..<4 { for j in 1..<4 { for i in 1..<4 { image[shape.offset(i, j, k)] = 5 } } }
        image[shape.offset(2, 2, 2)] = 0
        image[shape.offset(1, 1, 1)] = 0
        let box = VoxelBox(lower: SIMD3(1, 1, 1), upper: SIMD3(4, 4, 4))
        // The box is cut from the mask of the whole image in nnU-Net; a hole of the one is a hole of the other.
        for view in [VoxelView(stored: shape), try VoxelView(stored: shape).cropped(to: box)] {
            let mask = try ForegroundMask(of: [FrozenVoxels(image)], view: view, scope: .serial())
            let body = mask.inside.array().reduce(0) { $0 + Int($1) }
            #expect(body == 26)
            let corner = view.shape == shape ? shape.offset(1, 1, 1) : 0
            #expect(mask.inside[corner] == 0)
        }
    }

    @Test("agrees with a flood from the border, for every number of threads", arguments: [0.2, 0.5, 0.7, 0.9])
    func againstFlood(density: Double) async throws {
        let stored = VolumeShape(x: 11, y: 12, z: 13)
        var random = SplitMix64(seed: 3)
        let image = (0..<stored.count).map { _ in random.unit() < density ? Float(1) : 0 }
        let orientation = AxisOrientation(source: [2, 0, 1], reversed: [true, false, true])
        let shape = orientation.shape(from: stored)
        let rearranged = slowlyRearranged(image, stored, orientation)
        var expected = [UInt8](repeating: 1, count: shape.count)
        var open: [(Int, Int, Int)] = []
        for k in 0..<shape.z {
            for j in 0..<shape.y {
                for i in 0..<shape.x
                where i == 0 || j == 0 || k == 0 || i == shape.x - 1 || j == shape.y - 1 || k == shape.z - 1 {
                    open.append((i, j, k))
                }
            }
        }
        while let (i, j, k) = open.popLast() {
            guard (0..<shape.x).contains(i), (0..<shape.y).contains(j), (0..<shape.z).contains(k) else { continue }
            let index = shape.offset(i, j, k)
            guard rearranged[index] == 0, expected[index] == 1 else { continue }
            expected[index] = 0
            open += [(i - 1, j, k), (i + 1, j, k), (i, j - 1, k), (i, j + 1, k), (i, j, k - 1), (i, j, k + 1)]
        }
        let results = try await resultsForWidths { scope in
            let view = VoxelView(stored: stored, orientation: orientation)
            return try ForegroundMask(of: [FrozenVoxels(image)], view: view, scope: scope).inside.array()
        }
        #expect(results.allSatisfy { $0 == expected })
    }

    @Test("is that of all channels together")
    func channels() throws {
        let view = VoxelView(stored: VolumeShape(x: 4, y: 1, z: 1))
        let mask = try ForegroundMask(
            of: [FrozenVoxels([0, 1, 0, 0]), FrozenVoxels([0, 0, 0, .nan])],
            view: view,
            scope: .serial()
        )
        #expect(mask.inside.array() == [0, 1, 0, 1])
        #expect(throws: NumericsError.self) {
            _ = try ForegroundMask(of: [FrozenVoxels([1, 2])], view: view, scope: .serial())
        }
    }

    @Test("an image of zeros has none")
    func empty() throws {
        let zeros = try FrozenVoxels([Float](repeating: 0, count: 27))
        let view = VoxelView(stored: VolumeShape(x: 3, y: 3, z: 3))
        let mask = try ForegroundMask(of: [zeros], view: view, scope: .serial())
        #expect(mask.inside.array() == [UInt8](repeating: 0, count: 27))
    }
}
