import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneTestSupport
import Testing

/// Starts and weights of MONAI's sliding window: Tools/fixtures/make_monai_fixtures.py.
private struct MONAITiling: Decodable {
    struct Starts: Decodable {
        let image: Int
        let patch: Int
        let step: Double
        let starts: [Int]
    }

    struct Map: Decodable {
        /// (x, y, z)
        let patch: [Int]
        let weights: Data
    }

    let tiles: [Starts]
    let maps: [Map]

    static func load() throws -> MONAITiling {
        try JSONDecoder().decode(MONAITiling.self, from: Data(try Fixtures.bytes("resampling/monai.json")))
    }
}

@Suite("Tiles of MONAI's sliding window")
struct MONAITilingTests {
    @Test("start where MONAI's do, along every axis")
    func starts() throws {
        let tests = try MONAITiling.load().tiles
        #expect(tests.count >= 8)
        for test in tests {
            for axis in 0..<3 {
                var (shape, size) = (GridZYX(1, 1, 1), GridZYX(1, 1, 1))
                shape[axis] = test.image
                size[axis] = test.patch
                let plan = try TilePlan(
                    imageShape: shape,
                    patch: size,
                    step: test.step,
                    rule: TilingRule(positions: .interval)
                )
                #expect([plan.zStarts, plan.yStarts, plan.xStarts][axis] == test.starts)
            }
        }
        #expect(throws: TilePlanError.tooManyTiles) {
            try TilePlan(
                imageShape: GridZYX(1 << 30, 1, 1),
                patch: GridZYX(2, 1, 1),
                step: 0.01,
                rule: TilingRule(positions: .interval)
            )
        }
    }

    @Test("every plane is complete once, for every step", arguments: [0.1, 0.375, 0.5, 0.75, 1])
    func planes(step: Double) throws {
        for depth in [3, 8, 9, 31] {
            let plan = try TilePlan(
                imageShape: GridZYX(depth, 3, 3),
                patch: GridZYX(8, 3, 3),
                step: step,
                rule: TilingRule(positions: .interval)
            )
            var planes = 0
            for row in 0..<plan.rowCount {
                let completed = plan.completedPlanes(afterRow: row)
                #expect(completed > planes || row == 0)
                planes = completed
            }
            #expect(planes == depth)
        }
    }

    @Test("have MONAI's weights, and constant ones")
    func weights() throws {
        for test in try MONAITiling.load().maps {
            let patch = GridZYX(test.patch[2], test.patch[1], test.patch[0])
            let found = try ImportanceMap(patch: patch, profile: .centredGaussian).weights.array()
            let expected = test.weights.withUnsafeBytes { bytes in
                (0..<bytes.count / 4).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Float.self) }
            }
            try #require(found.count == expected.count)
            for (own, other) in zip(found, expected) { #expect(abs(own - other) <= 4e-7 * other) }
            #expect(found.min() ?? 0 >= 1e-3)
        }
        let constant = try ImportanceMap(patch: GridZYX(2, 3, 4), profile: .constant).weights.array()
        #expect(constant == [Float](repeating: 1, count: 24))
    }

    @Test("hold the continued border of a small image")
    func edges() throws {
        let shape = GridZYX(3, 9, 2)
        let plan = try TilePlan(
            imageShape: shape,
            patch: GridZYX(6, 8, 5),
            step: 0.5,
            rule: TilingRule(positions: .interval, padding: .edge)
        )
        let image = (0..<2 * shape.count).map { Float($0 + 1) }
        var tile = [Float](repeating: -1, count: 2 * plan.patch.count)
        for index in 0..<plan.tileCount {
            try image.withUnsafeBufferPointer { image in
                try tile.withUnsafeMutableBufferPointer {
                    try plan.cut(tile: index, from: image, channels: 2, into: $0, scope: .serial())
                }
            }
            let start = plan.start(ofTile: index)
            var expected: [Float] = []
            for c in 0..<2 {
                for z in 0..<6 {
                    for y in 0..<8 {
                        for x in 0..<5 {
                            var at = GridZYX(start.z + z, start.y + y, start.x + x)
                            for axis in 0..<3 {
                                at[axis] = min(max(at[axis] - plan.padding[axis], 0), shape[axis] - 1)
                            }
                            expected.append(image[((c * shape.z + at.z) * shape.y + at.y) * shape.x + at.x])
                        }
                    }
                }
            }
            #expect(tile == expected)
        }
    }
}
