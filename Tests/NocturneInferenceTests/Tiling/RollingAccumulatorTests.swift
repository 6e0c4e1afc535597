import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

/// A plan and the logits of its tiles.
private struct BlendCase: Sendable {
    let plan: TilePlan
    let classes = 3
    let tiles: [[Float]]

    init(_ shape: GridZYX, _ patch: GridZYX, _ step: Double) throws {
        let plan = try TilePlan(imageShape: shape, patch: patch, step: step)
        var random = SplitMix64(seed: 99)
        self.plan = plan
        tiles = (0..<plan.tileCount).map { _ in random.floats(3 * patch.count, in: -8..<8) }
    }

    static func all() throws -> [BlendCase] {
        [
            try BlendCase(GridZYX(21, 11, 13), GridZYX(8, 8, 8), 0.5),
            try BlendCase(GridZYX(30, 5, 9), GridZYX(7, 8, 6), 0.3),
            try BlendCase(GridZYX(5, 20, 6), GridZYX(8, 8, 8), 0.5),
            try BlendCase(GridZYX(16, 9, 9), GridZYX(8, 9, 9), 1),
            try BlendCase(GridZYX(1, 1, 1), GridZYX(1, 1, 1), 1),
        ]
    }

    /// Sums over the whole padded volume, then the division: `[plane][class][y][x]` of the image.
    func wholeVolume(_ precision: ImportanceMap.Precision) throws -> [[Float]] {
        func rounded(_ value: Float) -> Float { precision == .half ? Float(Float16(value)) : value }
        let weights = try ImportanceMap(patch: plan.patch, precision: precision).weights
        let (padded, patch, shape) = (plan.paddedShape, plan.patch, plan.imageShape)
        var sums = [Float](repeating: 0, count: classes * padded.count)
        var total = [Float](repeating: 0, count: padded.count)
        for (index, tile) in tiles.enumerated() {
            let start = plan.start(ofTile: index)
            for z in 0..<patch.z {
                for y in 0..<patch.y {
                    for x in 0..<patch.x {
                        let from = (z * patch.y + y) * patch.x + x
                        let to = ((start.z + z) * padded.y + start.y + y) * padded.x + start.x + x
                        total[to] = rounded(total[to] + weights[from])
                        for c in 0..<classes {
                            let product = tile[c * patch.count + from] * weights[from]
                            sums[c * padded.count + to] = rounded(sums[c * padded.count + to] + product)
                        }
                    }
                }
            }
        }
        return (0..<shape.z).map { z in
            (0..<classes * shape.y * shape.x).map { index in
                let (c, y, x) = (index / (shape.y * shape.x), index / shape.x % shape.y, index % shape.x)
                let at = ((z + plan.padding.z) * padded.y + y + plan.padding.y) * padded.x + x + plan.padding.x
                return rounded(sums[c * padded.count + at] / total[at])
            }
        }
    }

    /// Planes from `first` on, through the rolling window.
    func rolling(
        _ precision: ImportanceMap.Precision,
        from first: Int = 0,
        inFileIn folder: String? = nil,
        scope: ComputeScope
    ) throws -> [[Float]] {
        let map = try ImportanceMap(patch: plan.patch, precision: precision)
        var accumulator = try RollingAccumulator(
            plan: plan,
            classes: classes,
            map: map,
            resumingAtPlane: first,
            inFileIn: folder
        )
        var planes: [[Float]] = []
        #expect(accumulator.nextTile == plan.firstRow(neededForPlanesFrom: first) * plan.tilesInRow)
        for row in plan.firstRow(neededForPlanesFrom: first)..<plan.rowCount {
            for tile in plan.tiles(inRow: row) {
                try tiles[tile].withUnsafeBufferPointer { try accumulator.add($0, tile: tile, scope: scope) }
            }
            let finished = try accumulator.finishRow(scope: scope)
            #expect(finished.lowerBound == first + planes.count)
            for plane in finished { planes.append(accumulator.withPlane(plane) { Array($0) }) }
        }
        #expect(accumulator.finishedPlanes == plan.imageShape.z && accumulator.nonFiniteCount == 0)
        return planes
    }
}

@Suite("Blending tiles in a rolling window")
struct RollingAccumulatorTests {
    @Test(
        "equals sums over the whole volume to the bit, for every number of threads",
        arguments: [ImportanceMap.Precision.single, .half]
    )
    func whole(precision: ImportanceMap.Precision) async throws {
        for test in try BlendCase.all() {
            let expected = try test.wholeVolume(precision)
            let results = try await resultsForWidths { try test.rolling(precision, scope: $0) }
            for planes in results {
                let isEqual = planes == expected
                #expect(isEqual, "\(test.plan.imageShape)")
            }
        }
    }

    @Test("goes on from any plane with the same bits", arguments: [ImportanceMap.Precision.single, .half])
    func resuming(precision: ImportanceMap.Precision) throws {
        for test in try BlendCase.all() {
            let expected = try test.wholeVolume(precision)
            for plane in 0..<test.plan.imageShape.z {
                let isEqual = try test.rolling(precision, from: plane, scope: .serial()) == Array(expected[plane...])
                #expect(isEqual, "\(test.plan.imageShape) from plane \(plane)")
            }
        }
    }

    @Test("sums in a file are the sums in memory, and leave no file")
    func inFile() throws {
        try TemporaryFolder.with { place in
            for test in try BlendCase.all() {
                let expected = try test.wholeVolume(.single)
                let isEqual =
                    try test.rolling(.single, inFileIn: place.path, scope: .serial()) == expected
                #expect(isEqual, "\(test.plan.imageShape)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])
            #expect(throws: AllocationError.self) {
                _ = try VoxelBuffer<Float>(count: 10, inFileIn: place.path + "/none")
            }
        }
    }

    @Test("tiles that agree give what they say, and planes come as early as they can")
    func agreement() throws {
        let plan = try TilePlan(imageShape: GridZYX(20, 10, 10), patch: GridZYX(8, 8, 8), step: 0.5)
        var accumulator = try RollingAccumulator(plan: plan, classes: 1, map: ImportanceMap(patch: plan.patch))
        let tile = [Float](repeating: 2.5, count: plan.patch.count)
        var ranges: [Range<Int>] = []
        for row in 0..<plan.rowCount {
            for index in plan.tiles(inRow: row) {
                try tile.withUnsafeBufferPointer { try accumulator.add($0, tile: index, scope: .serial()) }
            }
            let planes = try accumulator.finishRow(scope: .serial())
            ranges.append(planes)
            for plane in planes {
                accumulator.withPlane(plane) { #expect($0.allSatisfy { abs($0 - 2.5) < 1e-6 }) }
            }
        }
        #expect(ranges == [0..<4, 4..<8, 8..<12, 12..<20])
    }

    @Test("logits in the corner of a half-precision image are rounded as nnU-Net's are")
    func coarseCorners() throws {
        let plan = try TilePlan(imageShape: GridZYX(128, 128, 128), patch: GridZYX(128, 128, 128), step: 0.5)
        let map = try ImportanceMap(patch: plan.patch, precision: .half)
        let logits: [Float] = [0.4, 0.6, 1.4, -0.7, 3.3]
        let tile = logits.flatMap { [Float](repeating: $0, count: plan.patch.count) }
        var accumulator = try RollingAccumulator(plan: plan, classes: logits.count, map: map)
        try tile.withUnsafeBufferPointer { try accumulator.add($0, tile: 0, scope: .serial()) }
        _ = try accumulator.finishRow(scope: .serial())
        // The weight of the first voxel is one unit of float16.
        let expected: [(GridZYX, [Double])] = [
            (GridZYX(0, 0, 0), [0, 1, 1, -1, 3]), (GridZYX(0, 0, 64), [0.4211, 0.5791, 1.4209, -0.6841, 3.3164]),
            (GridZYX(10, 10, 10), [0.3333, 0.6665, 1.333, -0.6665, 3.334]),
            (GridZYX(0, 64, 64), [0.3999, 0.5996, 1.3994, -0.6997, 3.2988]),
        ]
        for (at, values) in expected {
            let found = accumulator.withPlane(at.z) { plane in
                logits.indices.map { Double(plane[($0 * 128 + at.y) * 128 + at.x]) }
            }
            #expect(allClose(found, values, absolute: 6e-5, relative: 2e-4))
        }
    }

    @Test("logits that are no numbers are counted", arguments: [Float.nan, .infinity, -.infinity])
    func nonFinite(value: Float) throws {
        let plan = try TilePlan(imageShape: GridZYX(4, 4, 4), patch: GridZYX(4, 4, 4), step: 0.5)
        var accumulator = try RollingAccumulator(plan: plan, classes: 2, map: ImportanceMap(patch: plan.patch))
        var tile = [Float](repeating: 1, count: 128)
        tile[5] = value
        tile[100] = value
        try tile.withUnsafeBufferPointer { try accumulator.add($0, tile: 0, scope: .serial()) }
        _ = try accumulator.finishRow(scope: .serial())
        #expect(accumulator.nonFiniteCount == 2)
    }

    @Test("holds a patch-deep part of the image")
    func prediction() throws {
        let plan = try TilePlan(imageShape: GridZYX(100, 20, 30), patch: GridZYX(16, 32, 16), step: 0.5)
        #expect(RollingAccumulator.predictedBytes(plan: plan, classes: 5) == 16 * 20 * 30 * 6 * 4)
    }

    @Test("a raised flag ends it")
    func cancellation() throws {
        let plan = try TilePlan(imageShape: GridZYX(4, 4, 4), patch: GridZYX(4, 4, 4), step: 0.5)
        var accumulator = try RollingAccumulator(plan: plan, classes: 1, map: ImportanceMap(patch: plan.patch))
        let flag = CancellationFlag()
        flag.cancel()
        var wasCancelled = false
        do {
            try [Float](repeating: 1, count: 64).withUnsafeBufferPointer {
                try accumulator.add($0, tile: 0, scope: .serial(flag))
            }
        } catch { wasCancelled = error is CancelledError }
        #expect(wasCancelled)
    }
}
