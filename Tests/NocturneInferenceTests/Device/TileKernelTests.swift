import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Kernels for tiles, compiled as C, compute the bits of the processor's own path")
struct TileKernelTests {
    private let device = TileDevice.host

    /// Tiles that overlap, that are padded along each axis, that end with the image, and a single one.
    private static func plans(_ rule: TilingRule = TilingRule()) throws -> [TilePlan] {
        try [
            (GridZYX(21, 11, 13), GridZYX(8, 8, 8), 0.5), (GridZYX(30, 5, 9), GridZYX(7, 8, 6), 0.3),
            (GridZYX(5, 20, 6), GridZYX(8, 8, 8), 0.5), (GridZYX(16, 9, 9), GridZYX(8, 9, 9), 1),
            (GridZYX(4, 17, 10), GridZYX(1, 8, 7), 0.5), (GridZYX(1, 1, 1), GridZYX(1, 1, 1), 1),
        ].map { try TilePlan(imageShape: $0.0, patch: $0.1, step: $0.2, rule: rule) }
    }

    private func memory(_ values: [Float]) throws -> DeviceMemory {
        try values.withUnsafeBufferPointer { try device.allocate(copying: $0) }
    }

    private func values(_ memory: DeviceMemory) throws -> [Float] {
        var values = [Float](repeating: 0, count: memory.floats)
        try values.withUnsafeMutableBufferPointer { try device.download(memory, to: $0) }
        return values
    }

    private func flipped(_ tile: [Float], _ plan: TilePlan, _ axes: [Int]) -> [Float] {
        var result = tile
        tile.withUnsafeBufferPointer { tile in
            result.withUnsafeMutableBufferPointer {
                let channels = tile.count / plan.patch.count
                MirrorPasses.flip(tile, channels: channels, patch: plan.patch, along: axes, into: $0)
            }
        }
        return result
    }

    @Test("when a tile is cut, and mirrored", arguments: [TilingRule.Padding.zero, .edge])
    func cut(padding: TilingRule.Padding) throws {
        var random = SplitMix64(seed: 1)
        for plan in try Self.plans(TilingRule(padding: padding)) {
            let image = random.floats(2 * plan.imageShape.count, in: -8..<8)
            let resident = try memory(image)
            let target = try device.allocate(2 * plan.patch.count, of: Float.self)
            for tile in 0..<plan.tileCount {
                var expected = [Float](repeating: .nan, count: 2 * plan.patch.count)
                try image.withUnsafeBufferPointer { image in
                    try expected.withUnsafeMutableBufferPointer {
                        try plan.cut(tile: tile, from: image, channels: 2, into: $0, scope: .serial())
                    }
                }
                for axes in MirrorPasses(axes: [0, 1, 2]).flips {
                    try device.cut(tile, of: plan, from: resident, flippedAlong: axes, into: target)
                    #expect(try values(target).map(\.bitPattern) == flipped(expected, plan, axes).map(\.bitPattern))
                }
            }
        }
    }

    @Test("when mirrored passes are averaged")
    func mean() throws {
        var random = SplitMix64(seed: 2)
        for plan in try Self.plans() {
            let flips = MirrorPasses(axes: [0, 1, 2]).flips
            let resident = try device.allocate(3 * plan.patch.count, of: Float.self)
            var expected = [Float](repeating: 0, count: 3 * plan.patch.count)
            for (index, axes) in flips.enumerated() {
                let logits = random.floats(expected.count, in: -8..<8)
                logits.withUnsafeBufferPointer { logits in
                    expected.withUnsafeMutableBufferPointer {
                        MirrorPasses.accumulate(logits, channels: 3, patch: plan.patch, flippedAlong: axes, into: $0)
                    }
                }
                try device.add(
                    try memory(logits),
                    patch: plan.patch,
                    flippedAlong: axes,
                    to: resident,
                    isFirst: index == 0,
                    divisor: index == flips.count - 1 ? flips.count : nil
                )
            }
            let mean = expected.map { ($0 / Float(flips.count)).bitPattern }
            #expect(try values(resident).map(\.bitPattern) == mean)
        }
    }

    @Test("when tiles are blended, from the first plane or from a later one")
    func blend() throws {
        var random = SplitMix64(seed: 3)
        for plan in try Self.plans() {
            let tiles = (0..<plan.tileCount).map { _ in random.floats(3 * plan.patch.count, in: -8..<8) }
            let map = try ImportanceMap(patch: plan.patch)
            let weights = try map.weights.withUnsafeBufferPointer { try device.allocate(copying: $0) }
            for first in Set([0, plan.imageShape.z / 2, plan.imageShape.z - 1]) {
                var rolling = try RollingAccumulator(plan: plan, classes: 3, map: map, resumingAtPlane: first)
                let resident = try DeviceAccumulator(
                    plan: plan,
                    classes: 3,
                    map: weights,
                    resumingAtPlane: first,
                    on: device
                )
                #expect(resident.nextTile == rolling.nextTile)
                for tile in rolling.nextTile..<plan.tileCount {
                    try tiles[tile].withUnsafeBufferPointer { try rolling.add($0, tile: tile, scope: .serial()) }
                    try resident.add(try memory(tiles[tile]))
                    guard (tile + 1) % plan.tilesInRow == 0 else { continue }
                    let planes = try rolling.finishRow(scope: .serial())
                    #expect(try resident.finishRow() == planes && resident.finishedPlanes == rolling.finishedPlanes)
                    #expect(try resident.nonFiniteCount() == 0)
                    for plane in planes {
                        let expected = rolling.withPlane(plane) { Array($0) }
                        var found = expected.map { _ in Float.nan }
                        try found.withUnsafeMutableBufferPointer { try resident.read(plane, into: $0) }
                        #expect(found.map(\.bitPattern) == expected.map(\.bitPattern))
                    }
                }
                #expect(resident.finishedPlanes == plan.imageShape.z)
            }
        }
    }

    @Test("NaN and infinite values are counted, whatever their number")
    func nonFinite() throws {
        for count in [1, 5, 1 << 14, 40_001] {
            var random = SplitMix64(seed: UInt64(count))
            var numbers = random.floats(count, in: -8..<8)
            let counter = try NonFiniteCounter(on: device)
            #expect(try counter.count(try memory(numbers), count: count) == 0)
            let odd: [Float] = [.nan, .infinity, -.infinity]
            for index in stride(from: 0, to: count, by: 3) { numbers[index] = odd[index / 3 % 3] }
            #expect(try counter.count(try memory(numbers), count: count) == (count + 2) / 3)
        }
    }

    @Test("A tile of one value is found without cutting it", arguments: [TilingRule.Padding.zero, .edge])
    func constant(padding: TilingRule.Padding) throws {
        for plan in try Self.plans(TilingRule(padding: padding)) {
            // The first channel has one value; the second one has 0, and another value in its last voxel.
            var image = [Float](repeating: 7, count: plan.imageShape.count)
            image += [Float](repeating: 0, count: plan.imageShape.count - 1) + [5]
            for tile in 0..<plan.tileCount {
                var cut = [Float](repeating: 0, count: 2 * plan.patch.count)
                try image.withUnsafeBufferPointer { image in
                    try cut.withUnsafeMutableBufferPointer {
                        try plan.cut(tile: tile, from: image, channels: 2, into: $0, scope: .serial())
                    }
                }
                let channels = [cut.prefix(plan.patch.count), cut.suffix(plan.patch.count)]
                let expected = channels.allSatisfy { Set($0).count == 1 } ? channels.compactMap(\.first) : nil
                #expect(image.withUnsafeBufferPointer { plan.constantValues(ofTile: tile, in: $0) } == expected)
            }
        }
    }

    @Test("A device is compared with the processor before it is used")
    func check() throws {
        #expect(try device.kernel(differingFrom: .host) == nil)
    }
}
