import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("Tiles of a sliding window")
struct TilePlanTests {
    @Test(
        "start where nnU-Net's do, along every axis",
        arguments: [
            (110, 64, 0.5, [0, 23, 46]), (97, 64, 0.5, [0, 16, 33]), (99, 64, 0.5, [0, 18, 35]),
            (7, 4, 0.5, [0, 2, 3]),
            (129, 128, 0.5, [0, 1]), (35, 20, 0.3, [0, 5, 10, 15]), (200, 96, 0.7, [0, 52, 104]),
            (533, 128, 0.5, [0, 58, 116, 174, 231, 289, 347, 405]), (273, 128, 0.5, [0, 48, 97, 145]),
            (533, 128, 0.8, [0, 101, 202, 304, 405]), (273, 128, 0.8, [0, 72, 145]), (64, 64, 0.5, [0]),
            (3, 8, 0.5, [0]),
        ] as [(Int, Int, Double, [Int])]
    )
    func starts(image: Int, patch: Int, step: Double, expected: [Int]) throws {
        for axis in 0..<3 {
            var (shape, size) = (GridZYX(1, 1, 1), GridZYX(1, 1, 1))
            shape[axis] = image
            size[axis] = patch
            let plan = try TilePlan(imageShape: shape, patch: size, step: step)
            #expect([plan.zStarts, plan.yStarts, plan.xStarts][axis] == expected)
            #expect(plan.tileCount == expected.count)
        }
    }

    @Test("are as many as nnU-Net's, z outermost and x innermost")
    func order() throws {
        let shape = GridZYX(533, 273, 273)
        let patch = GridZYX(128, 128, 128)
        #expect(try TilePlan(imageShape: shape, patch: patch, step: 0.5).tileCount == 128)
        let plan = try TilePlan(imageShape: shape, patch: patch, step: 0.8)
        #expect(plan.tileCount == 45 && plan.rowCount == 5 && plan.tiles(inRow: 2) == 18..<27)
        var expected: [GridZYX] = []
        for z in plan.zStarts { for y in plan.yStarts { for x in plan.xStarts { expected.append(GridZYX(z, y, x)) } } }
        #expect((0..<plan.tileCount).map { plan.start(ofTile: $0) } == expected)
        #expect((0..<plan.tileCount).allSatisfy { plan.tiles(inRow: plan.row(ofTile: $0)).contains($0) })
    }

    @Test(
        "an image smaller than the patch lies in its centre",
        arguments: [
            (GridZYX(5, 6, 7), GridZYX(8, 8, 8), GridZYX(1, 1, 0)),
            (GridZYX(3, 34, 55), GridZYX(34, 96, 64), GridZYX(15, 31, 4)),
            (GridZYX(9, 8, 20), GridZYX(8, 8, 8), GridZYX(0, 0, 0)),
        ]
    )
    func padding(shape: GridZYX, patch: GridZYX, expected: GridZYX) throws {
        let plan = try TilePlan(imageShape: shape, patch: patch, step: 0.5)
        #expect(plan.padding == expected)
        for axis in 0..<3 { #expect(plan.paddedShape[axis] == max(shape[axis], patch[axis])) }
    }

    @Test(
        "a plane is complete when no later row has a part in it, and rows before its first have none",
        arguments: 1...40
    )
    func planes(depth: Int) throws {
        for (patch, step) in [(1, 1.0), (4, 0.5), (7, 0.3), (16, 0.5), (16, 0.9)] {
            let plan = try TilePlan(imageShape: GridZYX(depth, 3, 3), patch: GridZYX(patch, 3, 3), step: step)
            func rows(touching plane: Int) -> [Int] {
                let padded = plane + plan.padding.z
                return plan.zStarts.indices.filter { plan.zStarts[$0] <= padded && padded < plan.zStarts[$0] + patch }
            }
            for row in 0..<plan.rowCount {
                let completed = (0..<depth).prefix { (rows(touching: $0).last ?? 0) <= row }.count
                #expect(plan.completedPlanes(afterRow: row) == completed)
            }
            for plane in 0..<depth {
                #expect(plan.firstRow(neededForPlanesFrom: plane) == rows(touching: plane).first)
            }
            #expect(plan.firstRow(neededForPlanesFrom: depth) == plan.rowCount)
        }
    }

    @Test("hold the image's values, and zeros beyond its borders")
    func cutting() throws {
        for shape in [GridZYX(5, 6, 7), GridZYX(9, 8, 20), GridZYX(3, 20, 4)] {
            let plan = try TilePlan(imageShape: shape, patch: GridZYX(8, 8, 8), step: 0.5)
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
                    for z in 0..<8 {
                        for y in 0..<8 {
                            for x in 0..<8 {
                                let at = GridZYX(
                                    start.z + z - plan.padding.z,
                                    start.y + y - plan.padding.y,
                                    start.x + x - plan.padding.x
                                )
                                let isInside = (0..<3).allSatisfy { at[$0] >= 0 && at[$0] < shape[$0] }
                                let from = ((c * shape.z + at.z) * shape.y + at.y) * shape.x + at.x
                                expected.append(isInside ? image[from] : 0)
                            }
                        }
                    }
                }
                #expect(tile == expected)
            }
        }
    }

    @Test("impossible numbers are refused with their reason")
    func hostile() {
        let good = GridZYX(8, 8, 8)
        #expect(throws: TilePlanError.imageShape(GridZYX(0, 1, 1))) {
            try TilePlan(imageShape: GridZYX(0, 1, 1), patch: good, step: 0.5)
        }
        #expect(throws: TilePlanError.patchShape(GridZYX(8, -1, 8))) {
            try TilePlan(imageShape: good, patch: GridZYX(8, -1, 8), step: 0.5)
        }
        #expect(throws: TilePlanError.patchShape(GridZYX(1 << 40, 1 << 40, 8))) {
            try TilePlan(imageShape: good, patch: GridZYX(1 << 40, 1 << 40, 8), step: 0.5)
        }
        for step in [0, -0.5, 1.01, Double.infinity] {
            #expect(throws: TilePlanError.step(step)) { try TilePlan(imageShape: good, patch: good, step: step) }
        }
        #expect(throws: TilePlanError.self) { try TilePlan(imageShape: good, patch: good, step: .nan) }
        #expect(throws: TilePlanError.tooManyTiles) {
            try TilePlan(imageShape: GridZYX(1 << 30, 1, 1), patch: GridZYX(1, 1, 1), step: 1e-9)
        }
        #expect(throws: TilePlanError.tooManyTiles) {
            try TilePlan(imageShape: GridZYX(2, 2, 1 << 31), patch: GridZYX(2, 2, 64), step: 0.5)
        }
        #expect(throws: TilePlanError.tooManyTiles) {
            try TilePlan(imageShape: GridZYX(1000, 1000, 1000), patch: GridZYX(1, 1, 1), step: 1)
        }
    }
}

@Suite("The importance map")
struct ImportanceMapTests {
    private func half(_ patch: GridZYX) throws -> [Float] {
        try ImportanceMap(patch: patch, precision: .half).weights.array()
    }

    @Test("has nnU-Net's float16 values along a row")
    func row() throws {
        let rising: [Float] = [
            0.0033550262451171875, 0.021881103515625, 0.111083984375, 0.439453125, 1.353515625, 3.24609375, 6.06640625,
            8.828125, 10,
        ]
        #expect(try half(GridZYX(1, 1, 16)) == rising + rising[1..<8].reversed())
        #expect(try half(GridZYX(16, 1, 1)) == rising + rising[1..<8].reversed())
    }

    @Test("has nnU-Net's float16 values in small cubes")
    func cubes() throws {
        let four = try half(GridZYX(4, 4, 4))
        #expect(isClose(four.reduce(0) { $0 + Double($1) }, 20.532856106758118, absolute: 1e-12))
        #expect(four[0] == 1.7881393432617188e-07 && four[63] == 0.0247802734375)
        #expect(Array(four[40..<44]) == [0.0033550262451171875, 1.353515625, 10, 1.353515625])
        let eight = try half(GridZYX(8, 8, 8))
        #expect(isClose(eight.reduce(0) { $0 + Double($1) }, 157.43941819667816, absolute: 1e-11))
        #expect(isClose(eight[0], 1.7881393e-07, relative: 1e-6) && isClose(eight[511], 1.3709068e-05, relative: 1e-6))
    }

    @Test("has nnU-Net's float16 values in a cube of 128, zeros lifted")
    func large() throws {
        let map = try half(GridZYX(128, 128, 128))
        func at(_ z: Int, _ y: Int, _ x: Int) -> Float { map[(z * 128 + y) * 128 + x] }
        #expect(map.min() == 0x1p-24 && at(0, 0, 0) == 0x1p-24 && at(127, 127, 127) == 0x1p-24)
        #expect(isClose(at(0, 64, 64), 0.0033550262, relative: 1e-7))
        #expect(isClose(at(127, 64, 64), 0.0042991638, relative: 1e-7))
        #expect(isClose(map.reduce(0) { $0 + Double($1) }, 644986.1604437828, relative: 1e-13))
    }

    @Test("in float32 is the same to half precision, and nowhere 0", arguments: [1, 2, 3, 5, 16, 31, 96])
    func single(size: Int) throws {
        let patch = GridZYX(size, 7, size)
        let map = try ImportanceMap(patch: patch)
        let weights = map.weights.array()
        #expect(weights.allSatisfy { $0 > 0 && $0 <= 10 })
        #expect(weights[(size / 2 * 7 + 3) * size + size / 2] == 10)
        let rounded = try half(patch)
        #expect(zip(weights, rounded).allSatisfy { abs($0 - $1) <= $0 * 0x1p-10 + 0x1p-24 })
        #expect(ImportanceMap.predictedBytes(patch: patch) == 4 * weights.count)
    }
}

@Suite("Mirroring")
struct MirrorPassesTests {
    @Test("passes come in nnU-Net's order")
    func order() {
        #expect(MirrorPasses(axes: [2, 0, 1]).flips == [[], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]])
        #expect(MirrorPasses(axes: [1, 2]).flips == [[], [1], [2], [1, 2]])
        #expect(MirrorPasses(axes: []).flips == [[]])
        #expect(MirrorPasses(axes: [7, 1, 1, -1]).flips == [[], [1]])
    }

    @Test("a tile is read backwards along the axes, and comes back the second time")
    func flipping() {
        let patch = GridZYX(3, 4, 5)
        let tile = (0..<2 * patch.count).map { Float($0 + 1) }
        for axes in MirrorPasses(axes: [0, 1, 2]).flips {
            var flipped = [Float](repeating: -1, count: tile.count)
            var back = flipped
            flip(tile, patch, axes, &flipped)
            flip(flipped, patch, axes, &back)
            #expect(back == tile)
            for index in tile.indices {
                let at = [index / patch.count, index / 20 % 3, index / 5 % 4, index % 5]
                func source(_ axis: Int) -> Int { axes.contains(axis) ? patch[axis] - 1 - at[axis + 1] : at[axis + 1] }
                let from = ((at[0] * 3 + source(0)) * 4 + source(1)) * 5 + source(2)
                #expect(flipped[index] == tile[from])
            }
        }
    }

    private func flip(_ tile: [Float], _ patch: GridZYX, _ axes: [Int], _ result: inout [Float]) {
        tile.withUnsafeBufferPointer { tile in
            result.withUnsafeMutableBufferPointer {
                MirrorPasses.flip(tile, channels: 2, patch: patch, along: axes, into: $0)
            }
        }
    }

    @Test("outputs are summed in the order of the passes")
    func sum() {
        let patch = GridZYX(2, 3, 4)
        let passes = MirrorPasses(axes: [0, 1, 2])
        var random = SplitMix64(seed: 8)
        let outputs = passes.flips.map { _ in random.floats(2 * patch.count) }
        var sum = [Float](repeating: 0, count: 2 * patch.count)
        var expected = sum
        for (axes, output) in zip(passes.flips, outputs) {
            var back = [Float](repeating: 0, count: output.count)
            flip(output, patch, axes, &back)
            for index in expected.indices { expected[index] += back[index] }
            output.withUnsafeBufferPointer { output in
                sum.withUnsafeMutableBufferPointer {
                    MirrorPasses.accumulate(output, channels: 2, patch: patch, flippedAlong: axes, into: $0)
                }
            }
        }
        #expect(sum == expected)
    }
}
