import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Normalisation")
struct NormalizationTests {
    private func apply(_ scheme: Normalization, to values: [Float]) throws -> [Float] {
        let view = VoxelView(stored: VolumeShape(x: values.count, y: 1, z: 1))
        let map = try scheme.map(for: FrozenVoxels(values), view: view, scope: .serial())
        let resampler = try ImageResampler(view: view, target: view.shape, rule: .logits, map: map)
        let result = try resampler.resample(FrozenVoxels(values), scope: .serial()).array()
        #expect(result == values.map { map($0) })
        return result
    }

    @Test("of CT gives nnU-Net's values")
    func ct() throws {
        let scheme = Normalization.ct(lower: -958, upper: 270, mean: 99.48007202148438, deviation: 137.85)
        let expected = [-7.671237469, -4.350598812, -0.721654475, -0.431484014, 1.236996174, 1.236996174]
        let found = try apply(scheme, to: [-1024, -500.25, 0, 40, 300, 3071])
        #expect(allClose(found.map { Double($0) }, expected, absolute: 6e-10))
    }

    @Test("by z-score gives nnU-Net's values up to its own rounding")
    func zScore() throws {
        let expected = [-1.118034005, -1.118034005, -0.447213560, 0.223606840, 0.894427240, 1.565247655]
        let found = try apply(.zScore(), to: [0, 0, 10, 20, 30, 40])
        #expect(allClose(found.map { Double($0) }, expected, absolute: 2e-7))
        #expect(try apply(.zScore(), to: [7, 7, 7]) == [0, 0, 0])
    }

    @Test("to 0…1 gives nnU-Net's values")
    func rescale() throws {
        #expect(try apply(.rescale01, to: [-5, 0, 10, 15]) == [0, 0.25, 0.75, 1])
    }

    @Test("of colours divides by 255, and refuses what is none")
    func rgb() throws {
        #expect(try apply(.rgb01, to: [0, 51, 255, 0.5]) == [0, 0.2, 1, Float(0.5) / 255])
        #expect(throws: NumericsError.self) { try apply(.rgb01, to: [0, 255.5]) }
        #expect(throws: NumericsError.self) { try apply(.rgb01, to: [-1, 255]) }
        #expect(throws: NumericsError.self) { try apply(.rgb01, to: [.nan, 255]) }
    }

    @Test("by z-score within the body gives nnU-Net's values there and leaves the others")
    func maskedZScore() throws {
        let values: [Float] = [0, 0, 10, 20, 30, 40]
        let view = VoxelView(stored: VolumeShape(x: 6, y: 1, z: 1))
        let mask = try ForegroundMask(of: [FrozenVoxels(values)], view: view, scope: .serial())
        let scheme = Normalization.zScore(usesMask: true)
        #expect(scheme.needsMask && !Normalization.zScore().needsMask)
        // The values outside are no zeros here, to see that they stay.
        for outside in [Float(0), 500] {
            let image = try FrozenVoxels(values.map { $0 == 0 ? outside : $0 })
            let map = try scheme.map(for: image, view: view, mask: mask, scope: .serial())
            let found = try ImageResampler(view: view, target: view.shape, rule: .image, map: map)
                .resample(image, scope: .serial()).array()
            let inside = [-1.341640830, -0.447213590, 0.447213590, 1.341640830]
            let expected = [Double(outside), Double(outside)] + inside
            #expect(allClose(found.map { Double($0) }, expected, absolute: 2e-7))
        }
        let image = try FrozenVoxels(values)
        #expect(throws: NumericsError.self) { _ = try scheme.map(for: image, view: view, scope: .serial()) }
        let other = VoxelView(stored: VolumeShape(x: 3, y: 2, z: 1))
        #expect(throws: NumericsError.self) {
            _ = try scheme.map(for: image, view: other, mask: mask, scope: .serial())
        }
        #expect(throws: NumericsError.self) {
            let odd = try FrozenVoxels([0, 0, 10, 20, .nan, 40] as [Float])
            _ = try scheme.map(for: odd, view: view, mask: mask, scope: .serial())
        }
    }

    @Test("within a body of nothing changes nothing")
    func emptyMask() throws {
        let image = try FrozenVoxels([Float](repeating: 0, count: 8))
        let view = VoxelView(stored: VolumeShape(x: 2, y: 2, z: 2))
        let mask = try ForegroundMask(of: [image], view: view, scope: .serial())
        let map = try Normalization.zScore(usesMask: true).map(for: image, view: view, mask: mask, scope: .serial())
        let found = try ImageResampler(view: view, target: view.shape, rule: .image, map: map)
        #expect(try found.resample(image, scope: .serial()).array() == image.array())
    }

    @Test("by nothing changes no bit")
    func none() throws {
        #expect(try apply(.none, to: [-5, 0, .leastNonzeroMagnitude, 1e30]) == [-5, 0, .leastNonzeroMagnitude, 1e30])
    }

    @Test("statistics are those of the box, in every orientation, for every number of threads")
    func statistics() async throws {
        let stored = VolumeShape(x: 31, y: 23, z: 19)
        var random = SplitMix64(seed: 4)
        let image = random.floats(stored.count, in: -1000..<2000)
        let box = VoxelBox(lower: SIMD3(2, 3, 4), upper: SIMD3(17, 11, 16))
        for orientation in allOrientations {
            let view = try VoxelView(stored: stored, orientation: orientation).cropped(to: box)
            let cut = try Reorienter.copy(FrozenVoxels(image), through: view, scope: .serial()).array()
            let mean = cut.reduce(0) { $0 + Double($1) } / Double(cut.count)
            let variance = cut.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) } / Double(cut.count)
            let results = try await resultsForWidths { scope in
                try ImageStatistics(of: FrozenVoxels(image), view: view, deviation: true, scope: scope)
            }
            #expect(results.allSatisfy { $0 == results[0] })
            #expect(isClose(results[0].mean, mean, relative: 1e-12))
            #expect(isClose(results[0].deviation, variance.squareRoot(), relative: 1e-12))
            #expect(results[0].lowest == cut.min() && results[0].highest == cut.max())
        }
    }

    @Test("refuses what is no number", arguments: [Float.nan, .infinity, -.infinity])
    func hostile(value: Float) throws {
        #expect(throws: NumericsError.self) { try apply(.zScore(), to: [1, value, 3]) }
        #expect(throws: NumericsError.self) { try apply(.rescale01, to: [1, value, 3]) }
        #expect(throws: NumericsError.self) {
            try apply(.ct(lower: 0, upper: 1, mean: value, deviation: 1), to: [1, 2])
        }
    }
}

@Suite("The grid of the model")
struct TargetGridTests {
    @Test(
        "has nnU-Net's shape",
        arguments: [
            ([800, 512, 512], [1, 0.8, 0.8], [1.5, 1.5, 1.5], [533, 273, 273]),
            ([5, 7, 9], [0.5, 0.5, 0.5], [1, 1, 1], [2, 4, 4]),
            ([3, 10, 10], [5, 1, 1], [2, 1, 1], [8, 10, 10]),
            // nnU-Net gives 0 here.
            ([1, 4, 4], [1, 1, 1], [4, 1, 1], [1, 4, 4]),
            ([64, 64, 64], [0.800000011920929, 0.8, 0.8], [1.5, 1.5, 1.5], [34, 34, 34]),
        ] as [([Int], [Double], [Double], [Int])]
    )
    func shapes(shape: [Int], old: [Double], new: [Double], expected: [Int]) throws {
        let result = try targetShape(
            of: VolumeShape(x: shape[0], y: shape[1], z: shape[2]),
            spacing: SIMD3(old[0], old[1], old[2]),
            resampledTo: SIMD3(new[0], new[1], new[2])
        )
        #expect(result == VolumeShape(x: expected[0], y: expected[1], z: expected[2]))
    }

    @Test("is refused for impossible spacings", arguments: [0, -1, Double.nan, .infinity, 1e-12])
    func hostile(spacing: Double) {
        let shape = VolumeShape(x: 10, y: 10, z: 10)
        #expect(throws: NumericsError.self) {
            try targetShape(of: shape, spacing: SIMD3(1, 1, 1), resampledTo: SIMD3(1, spacing, 1))
        }
    }

    @Test("is refused for an axis longer than any image's, which is named", arguments: [0, 1, 2])
    func longAxis(_ axis: Int) throws {
        var spacing = SIMD3<Double>(1, 1, 1)
        spacing[axis] = 65_536 / 4
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let error = #expect(throws: NumericsError.self) {
            try targetShape(of: shape, spacing: spacing, resampledTo: SIMD3(1, 1, 1))
        }
        #expect(error?.description.contains("along \(["x", "y", "z"][axis]) gives 65536.0 voxels") == true)
        spacing[axis] = 65_535 / 4
        #expect(try targetShape(of: shape, spacing: spacing, resampledTo: SIMD3(1, 1, 1))[axis] == 65_535)
    }

    @Test(
        "keeps slices apart where nnU-Net does",
        arguments: [
            ([0.7, 0.7, 5], [1.5, 1.5, 1.5], 2), ([1, 1, 1], [0.8, 0.8, 5], 2), ([1, 1, 3], [1, 1, 3], nil),
            ([1, 1, 3.0001], [1, 1, 1], 2), ([1.25, 1.25, 0.24], [1, 1, 1], nil), ([5, 0.8, 0.8], [1.5, 1.5, 1.5], 0),
            ([0.24, 1.25, 1.25], [1, 1, 5], nil),
        ] as [([Double], [Double], Int?)]
    )
    func separateAxis(current: [Double], new: [Double], expected: Int?) {
        let (current, new) = (SIMD3(current[0], current[1], current[2]), SIMD3(new[0], new[1], new[2]))
        #expect(ResamplingRule.image.separateAxis(current: current, new: new) == expected)
        #expect(ResamplingRule(order: .cubic, separateZ: .never).separateAxis(current: current, new: new) == nil)
    }

    @Test("keeps slices apart along the one largest spacing when told to, or from another threshold on")
    func always() {
        let always = ResamplingRule(order: .cubic, separateZ: .always)
        #expect(always.separateAxis(current: SIMD3(1, 1.1, 1), new: SIMD3(1, 1, 1)) == 1)
        #expect(always.separateAxis(current: SIMD3(1, 1, 1), new: SIMD3(1, 1, 9)) == nil)
        let patient = ResamplingRule(order: .cubic, anisotropyThreshold: 6)
        #expect(patient.separateAxis(current: SIMD3(1, 1, 6), new: SIMD3(1, 1, 1)) == nil)
        #expect(patient.separateAxis(current: SIMD3(1, 1, 6.1), new: SIMD3(1, 1, 1)) == 2)
    }
}
