import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Resampling of images")
struct ImageResamplerTests {
    /// A row along the given axis, the other sizes 1.
    private func resample(
        _ values: [Float],
        to count: Int,
        order: ResamplingRule.Order,
        axis: Int = 0
    ) throws -> [Float] {
        var source = VolumeShape(x: 1, y: 1, z: 1)
        source[axis] = values.count
        var target = source
        target[axis] = count
        let resampler = try ImageResampler(
            view: VoxelView(stored: source),
            target: target,
            rule: ResamplingRule(order: order)
        )
        return try resampler.resample(FrozenVoxels(values), scope: .serial()).array()
    }

    static let row: [Float] = [0, 0, 10, 0, 5, 5, -3, 2]

    @Test("rows come out as nnU-Net's, along every axis", arguments: [0, 1, 2])
    func workedRows(axis: Int) throws {
        let cases: [(ResamplingRule.Order, [Double])] = [
            (.cubic, [-0.843224883, 9.853692055, 0.974491298, 4.194516659, 0.173572809]),
            (
                .cubic,
                [
                    0.294504553, -1.161191583, 0.337141484, 7.988919735, 8.390417099, 0.838012040, 0.974491298,
                    5.710496426, 6.422455311, 1.819603205, -2.921818495, -0.707878947, 2.590747595,
                ]
            ),
            (.linear, [0, 9, 2.5, 4.2, 0.5]),
            (
                .linear,
                [
                    0, 0, 0.384615391, 6.538461685, 7.307692528, 1.153846145, 2.5, 5, 5, 2.230769157, -2.692307711,
                    -0.115384616, 2,
                ]
            ),
        ]
        for (order, expected) in cases {
            let found = try resample(Self.row, to: expected.count, order: order, axis: axis)
            #expect(allClose(found.map { Double($0) }, expected, absolute: 6e-8, relative: 6e-8))
        }
    }

    @Test("cubic results are clamped to the range of the image")
    func clip() throws {
        let found = try resample([0, 0, 0, 10, 10, 10], to: 9, order: .cubic)
        let expected = [0, 0.269237876, 0, 0, 5, 10, 10, 9.730762482, 10]
        #expect(allClose(found.map { Double($0) }, expected, absolute: 6e-7))
    }

    @Test("the range is that of a slice where slices are kept apart", arguments: [0, 1, 2])
    func clipPerSlice(axis: Int) throws {
        // Two rows along another axis, stacked along `axis`.
        let rowAxis = (axis + 1) % 3
        var source = VolumeShape(x: 1, y: 1, z: 1)
        source[axis] = 2
        source[rowAxis] = 6
        var values = [Float](repeating: 0, count: 12)
        for (slice, row) in [[0, 0, 0, 10, 10, 10], [-50, -50, -50, 80, 80, 80]].enumerated() {
            for (index, value) in row.enumerated() {
                var place = [0, 0, 0]
                place[axis] = slice
                place[rowAxis] = index
                values[source.offset(place[0], place[1], place[2])] = Float(value)
            }
        }
        var target = source
        target[rowAxis] = 9
        for (separate, lowest) in [(axis, 0), (nil, -0.055505317)] as [(Int?, Double)] {
            let resampler = try ImageResampler(
                view: VoxelView(stored: source),
                target: target,
                rule: ResamplingRule(order: .cubic),
                separateAxis: separate
            )
            let found = try resampler.resample(FrozenVoxels(values), scope: .serial())
            #expect(isClose(Double(found[0]), lowest, absolute: separate == nil ? 1e-5 : 0))
        }
    }

    @Test("a cube comes out as nnU-Net's")
    func workedCube() throws {
        let source = VolumeShape(x: 4, y: 4, z: 4)
        let values = try Phantom.voxels(source) { i, j, k in Float((i + j + k) % 3) }.frozen()
        let resampler = try ImageResampler(
            view: VoxelView(stored: source),
            target: VolumeShape(x: 2, y: 2, z: 2),
            rule: ResamplingRule(order: .cubic)
        )
        let found = try resampler.resample(values, scope: .serial()).array()
        let expected = [
            1.374229550, 0.684818447, 0.684818447, 1.035431504, 0.684818447, 1.035431504, 1.035431504, 1.269129038,
        ]
        #expect(allClose(found.map { Double($0) }, expected, absolute: 6e-8, relative: 6e-8))
    }

    @Test("slices kept apart are the nearest ones", arguments: [0, 1, 2])
    func separateSlices(axis: Int) throws {
        for (count, expected) in [(3, [0, 2, 3]), (6, [0, 1, 1, 2, 3, 3]), (2, [1, 3])] as [(Int, [Float])] {
            var source = VolumeShape(x: 5, y: 5, z: 5)
            source[axis] = 4
            var target = VolumeShape(x: 7, y: 7, z: 7)
            target[axis] = count
            let values = (0..<source.count).map { index -> Float in
                Float([index % source.x, index / source.x % source.y, index / source.sliceCount][axis])
            }
            for order in [ResamplingRule.Order.linear, .cubic] {
                let resampler = try ImageResampler(
                    view: VoxelView(stored: source),
                    target: target,
                    rule: ResamplingRule(order: order),
                    separateAxis: axis
                )
                let found = try resampler.resample(FrozenVoxels(values), scope: .serial()).array()
                for index in found.indices {
                    let place = [index % target.x, index / target.x % target.y, index / target.sliceCount]
                    #expect(found[index] == expected[place[axis]])
                }
            }
        }
    }

    @Test("a ramp stays a ramp between the outermost voxels", arguments: [ResamplingRule.Order.linear, .cubic])
    func ramp(order: ResamplingRule.Order) throws {
        let (source, target) = (VolumeShape(x: 40, y: 44, z: 48), VolumeShape(x: 55, y: 31, z: 20))
        func value(_ i: Double, _ j: Double, _ k: Double) -> Double { 2 * i - 3 * j + 0.5 * k + 7 }
        let voxels = try Phantom.voxels(source) { Float(value(Double($0), Double($1), Double($2))) }
        let resampler = try ImageResampler(
            view: VoxelView(stored: source),
            target: target,
            rule: ResamplingRule(order: order)
        )
        let found = try resampler.resample(voxels.frozen(), scope: .serial())
        func position(_ index: Int, _ axis: Int) -> Double {
            (Double(index) + 0.5) * Double(source[axis]) / Double(target[axis]) - 0.5
        }
        // The replicated edge bends a cubic spline, less with every voxel from it.
        let margin = order == .linear ? 1 : 9
        for k in margin..<target.z - margin {
            for j in margin..<target.y - margin {
                for i in margin..<target.x - margin {
                    let expected = value(position(i, 0), position(j, 1), position(k, 2))
                    #expect(abs(Double(found[target.offset(i, j, k)]) - expected) < 2e-4)
                }
            }
        }
    }

    @Test(
        "order 1 equals the formula to the bit, for every orientation and number of threads",
        arguments: [nil, 0, 1, 2]
    )
    func linearReference(separate: Int?) async throws {
        let stored = VolumeShape(x: 13, y: 11, z: 9)
        var random = SplitMix64(seed: 21)
        let image = random.floats(stored.count, in: -1000..<2000)
        let map = PointwiseMap(lower: -700, upper: 900, shift: 33.3, divisor: 77.7)
        let box = VoxelBox(lower: SIMD3(1, 0, 2), upper: SIMD3(9, 8, 9))
        let target = VolumeShape(x: 17, y: 6, z: 10)
        for orientation in allOrientations {
            let view = try VoxelView(stored: stored, orientation: orientation).cropped(to: box)
            let cut = try Reorienter.copy(FrozenVoxels(image), through: view, scope: .serial()).array().map { map($0) }
            let expected = slowLinear(cut, box.shape, target, separate)
            let results = try await resultsForWidths(orientation == .stored ? [1, 2, 5] : [2]) { scope in
                let resampler = try ImageResampler(
                    view: view,
                    target: target,
                    rule: ResamplingRule(order: .linear),
                    separateAxis: separate,
                    map: map
                )
                return try resampler.resample(FrozenVoxels(image), scope: scope).array()
            }
            #expect(results.allSatisfy { $0 == expected })
        }
    }

    @Test("order 3 equals the formula to the bit, for every number of threads", arguments: [nil, 0, 1, 2])
    func cubicReference(separate: Int?) async throws {
        // More than one block of lanes, and a remainder.
        let stored = VolumeShape(x: 45, y: 10, z: 7)
        var random = SplitMix64(seed: 22)
        let image = random.floats(stored.count, in: -10..<20)
        let target = VolumeShape(x: 33, y: 13, z: 9)
        let expected = slowCubic(image, stored, target, separate)
        let results = try await resultsForWidths { scope in
            let resampler = try ImageResampler(
                view: VoxelView(stored: stored),
                target: target,
                rule: ResamplingRule(order: .cubic),
                separateAxis: separate
            )
            return try resampler.resample(FrozenVoxels(image), scope: scope).array()
        }
        #expect(results.allSatisfy { $0 == expected })
        // And through an orientation: the same as rearranging first.
        let orientation = AxisOrientation(source: [2, 0, 1], reversed: [true, false, true])
        let canonical = try Reorienter.copy(
            FrozenVoxels(image),
            through: VoxelView(stored: stored, orientation: orientation),
            scope: .serial()
        )
        let before = try ImageResampler(
            view: VoxelView(stored: orientation.shape(from: stored)),
            target: target,
            rule: ResamplingRule(order: .cubic),
            separateAxis: separate
        ).resample(canonical.frozen(), scope: .serial()).array()
        let fused = try ImageResampler(
            view: VoxelView(stored: stored, orientation: orientation),
            target: target,
            rule: ResamplingRule(order: .cubic),
            separateAxis: separate
        ).resample(FrozenVoxels(image), scope: .serial()).array()
        #expect(before == fused)
    }

    @Test(
        "order 3 through a window equals the formula to the bit, whichever axis is long or slowest in memory",
        arguments: [0, 1, 2],
        [[0, 1, 2], [2, 1, 0], [1, 2, 0]]
    )
    func cubicWindow(long: Int, permutation: [Int]) async throws {
        var canonical = VolumeShape(x: 5, y: 6, z: 9)
        var target = VolumeShape(x: 4, y: 8, z: 7)
        canonical[long] = 190
        // Wider on one axis, narrower on the others.
        target[long] = long == 1 ? 260 : 131
        let goal = target
        let orientation = AxisOrientation(source: permutation, reversed: [false, true, false])
        let stored = orientation.inverse.shape(from: canonical)
        var random = SplitMix64(seed: 23)
        let image = random.floats(stored.count, in: -1000..<2000)
        let expected = slowCubic(slowlyRearranged(image, stored, orientation), canonical, goal, nil)
        let results = try await resultsForWidths([1, 2]) { scope in
            try ImageResampler(
                view: VoxelView(stored: stored, orientation: orientation),
                target: goal,
                rule: ResamplingRule(order: .cubic)
            ).resample(FrozenVoxels(image), scope: scope).array()
        }
        #expect(results.allSatisfy { $0 == expected })
    }

    @Test(
        "an unchanged shape changes no bit, whatever the order",
        arguments: [ResamplingRule.Order.nearest, .linear, .cubic]
    )
    func unchanged(order: ResamplingRule.Order) throws {
        let shape = VolumeShape(x: 5, y: 6, z: 7)
        var random = SplitMix64(seed: 5)
        let image = random.floats(shape.count)
        let resampler = try ImageResampler(
            view: VoxelView(stored: shape),
            target: shape,
            rule: ResamplingRule(order: order)
        )
        #expect(resampler.predictedWorkingBytes == 0)
        #expect(try resampler.resample(FrozenVoxels(image), scope: .serial()).array() == image)
    }

    @Test("volumes of another size, empty targets and a raised flag end it")
    func hostile() throws {
        let view = VoxelView(stored: VolumeShape(x: 4, y: 4, z: 4))
        let target = VolumeShape(x: 2, y: 2, z: 2)
        #expect(throws: NumericsError.self) {
            try ImageResampler(view: view, target: VolumeShape(x: 0, y: 2, z: 2), rule: ResamplingRule(order: .linear))
        }
        #expect(throws: NumericsError.self) {
            try ImageResampler(view: view, target: target, rule: ResamplingRule(order: .linear), separateAxis: 3)
        }
        let resampler = try ImageResampler(view: view, target: target, rule: ResamplingRule(order: .cubic))
        #expect(throws: NumericsError.self) {
            _ = try resampler.resample(FrozenVoxels([1, 2, 3]), scope: .serial())
        }
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            _ = try resampler.resample(FrozenVoxels([Float](repeating: 1, count: 64)), scope: .serial(flag))
        }
    }
}
