import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

/// What MONAI's own transforms made of small volumes: Tools/fixtures/make_monai_fixtures.py. Triples are (x, y, z).
private struct MONAIFixtures: Decodable {
    struct Image: Decodable {
        let name: String
        let shape: [Int]
        let affine: [[Double]]
        let spacing: [Double]
        let target: [Int]
        let image: String
        let result: String
        let labels: String
        let nearest: String
        let scores: String
        let linear: String

        var source: VolumeShape { VolumeShape(x: shape[0], y: shape[1], z: shape[2]) }

        func grid() throws -> MONAIGrid {
            try MONAIGrid(
                of: source,
                affine: Affine(rows: affine),
                spacing: SIMD3(spacing[0], spacing[1], spacing[2])
            )
        }
    }

    struct Normalized: Decodable {
        let shape: [Int]
        let image: String
        let result: String
    }

    let images: [Image]
    let nonzero: Normalized

    static func load() throws -> MONAIFixtures {
        try JSONDecoder().decode(MONAIFixtures.self, from: Data(try Fixtures.bytes("resampling/monai.json")))
    }
}

private func largestDifference(_ found: [Float], _ expected: [Float]) -> Float {
    guard found.count == expected.count else { return .infinity }
    return zip(found, expected).reduce(0) { max($0, abs($1.0 - $1.1)) }
}

@Suite("Resampling and normalisation against MONAI")
struct MONAITests {
    @Test("images have MONAI's size and values, on straight and oblique grids")
    func images() throws {
        let fixtures = try MONAIFixtures.load()
        #expect(fixtures.images.count >= 10)
        for test in fixtures.images {
            let grid = try test.grid()
            #expect([grid.shape.x, grid.shape.y, grid.shape.z] == test.target, "\(test.name)")
            let rule = ResamplingRule(
                method: .monai,
                order: .linear,
                separateZ: .never,
                alignment: grid.alignment
            )
            let found = try ImageResampler(view: VoxelView(stored: test.source), target: grid.shape, rule: rule)
                .resample(FrozenVoxels(numbers(test.image) as [Float]), scope: .serial()).array()
            // Values of some 100; the shear of an oblique grid in single precision is left out.
            #expect(largestDifference(found, numbers(test.result)) < 1e-3, "\(test.name)")
        }
    }

    @Test("a grid that is rearranged after it was resampled has the same values", arguments: allOrientations)
    func rearranged(orientation: AxisOrientation) throws {
        let shape = VolumeShape(x: 7, y: 6, z: 5)
        let affine = Affine.scaling(SIMD3(1, 1.3, 0.7))
        let grid = try MONAIGrid(of: shape, affine: affine, spacing: SIMD3(1.6, 0.9, 1))
        var random = SplitMix64(seed: 8)
        let image = try FrozenVoxels(random.floats(shape.count, in: -1..<1))
        func resampled(_ view: VoxelView, _ target: VolumeShape, _ alignment: GridAlignment) throws -> [Float] {
            let rule = ResamplingRule(method: .monai, order: .linear, separateZ: .never, alignment: alignment)
            return try ImageResampler(view: view, target: target, rule: rule)
                .resample(image, scope: .serial()).array()
        }
        let plain = try resampled(VoxelView(stored: shape), grid.shape, grid.alignment)
        let turned = try resampled(
            VoxelView(stored: shape, orientation: orientation),
            orientation.shape(from: grid.shape),
            grid.alignment.oriented(by: orientation, from: shape, to: grid.shape)
        )
        let expected = slowlyRearranged(plain, grid.shape, orientation)
        #expect(largestDifference(turned, expected) < 1e-5)
    }

    @Test("labels return by MONAI's nearest voxel, and scores by its interpolation")
    func inverse() throws {
        for test in try MONAIFixtures.load().images {
            let grid = try test.grid()
            func rule(_ order: ResamplingRule.Order) -> ResamplingRule {
                ResamplingRule(
                    method: .monai,
                    order: order,
                    separateZ: .never,
                    alignment: grid.alignment.inverse
                )
            }
            let labels = (numbers(test.labels) as [UInt8]).map { Float($0) }
            let nearest = try ImageResampler(
                view: VoxelView(stored: grid.shape),
                target: test.source,
                rule: rule(.nearest)
            )
            .resample(FrozenVoxels(labels), scope: .serial()).array()
            #expect(nearest == (numbers(test.nearest) as [UInt8]).map { Float($0) }, "\(test.name)")
            let linear = try ImageResampler(
                view: VoxelView(stored: grid.shape),
                target: test.source,
                rule: rule(.linear)
            )
            .resample(FrozenVoxels(numbers(test.scores) as [Float]), scope: .serial()).array()
            #expect(largestDifference(linear, numbers(test.linear)) < 1e-5, "\(test.name)")
        }
    }

    @Test("labels of two classes are where MONAI's interpolated scores are above 0")
    func labeling() throws {
        for test in try MONAIFixtures.load().images {
            let grid = try test.grid()
            var labeler = try SliceLabeler(
                model: grid.shape,
                native: test.source,
                decision: .regions(labels: [1]),
                rule: ResamplingRule(method: .monai, order: .linear, alignment: grid.alignment.inverse)
            )
            let scores = numbers(test.scores) as [Float]
            var labels = try VoxelBuffer<UInt16>(count: test.source.count)
            while let plane = labeler.neededPlane {
                let area = grid.shape.sliceCount
                try scores[plane * area..<(plane + 1) * area].withUnsafeBufferPointer {
                    try labeler.push($0, into: &labels)
                }
            }
            let isFinished = labeler.isFinished
            #expect(isFinished)
            let expected = numbers(test.linear) as [Float]
            for (label, score) in zip(labels.frozen().array(), expected) where abs(score) > 1e-4 {
                #expect(label == (score > 0 ? 1 : 0), "\(test.name)")
            }
        }
    }

    @Test("a plane of the new grid that no voxel of the old one needs is accepted, and a wrong size refused")
    func limits() throws {
        let shape = VolumeShape(x: 4, y: 4, z: 4)
        let view = VoxelView(stored: shape)
        for order in [ResamplingRule.Order.nearest, .linear] {
            #expect(throws: NumericsError.self) {
                try ImageResampler(view: view, target: shape, rule: ResamplingRule(method: .monai, order: order))
            }
        }
        #expect(throws: NumericsError.self) {
            try ImageResampler(
                view: view,
                target: shape,
                rule: ResamplingRule(method: .monai, order: .cubic, alignment: GridAlignment(start: [0.5, 0, 0]))
            )
        }
        #expect(throws: NumericsError.self) {
            try ImageResampler(
                view: view,
                target: shape,
                rule: ResamplingRule(order: .linear, alignment: GridAlignment())
            )
        }
        #expect(throws: NumericsError.self) {
            try MONAIGrid(of: shape, affine: .scaling(SIMD3(1, 1, 0)), spacing: SIMD3(1, 1, 1))
        }
        #expect(throws: NumericsError.self) {
            try MONAIGrid(of: shape, affine: .scaling(SIMD3(1, 1, 1)), spacing: SIMD3(1, 1, 1e-6))
        }
    }

    @Test("nonzero voxels are normalised as by MONAI, and zeros stay zeros")
    func nonzero() throws {
        let test = try MONAIFixtures.load().nonzero
        let view = VoxelView(stored: VolumeShape(x: test.shape[0], y: test.shape[1], z: test.shape[2]))
        let image = try FrozenVoxels(numbers(test.image) as [Float])
        let map = try Normalization.zScoreOfNonzero.map(for: image, view: view, scope: .serial())
        let found = try ImageResampler(
            view: view,
            target: view.shape,
            rule: ResamplingRule(order: .nearest),
            map: map
        )
        .resample(image, scope: .serial()).array()
        #expect(largestDifference(found, numbers(test.result)) < 1e-5)
        #expect(zip(found, image.array()).allSatisfy { $0.1 != 0 || $0.0 == 0 })
        let zeros = try FrozenVoxels([Float](repeating: 0, count: view.shape.count))
        let constant = try FrozenVoxels([Float](repeating: 7, count: view.shape.count))
        let none = try Normalization.zScoreOfNonzero.map(for: zeros, view: view, scope: .serial())
        #expect(none.divisor == 1)
        let same = try Normalization.zScoreOfNonzero.map(for: constant, view: view, scope: .serial())
        #expect(same(7) == 0 && same.divisor == 1)
    }

    @Test("intensities are scaled to a range, or by a line")
    func scaling() throws {
        let view = VoxelView(stored: VolumeShape(x: 3, y: 1, z: 1))
        let image = try FrozenVoxels([-10, 0, 30] as [Float])
        let rescaled = try Normalization.rescale(lower: -1, upper: 1).map(for: image, view: view, scope: .serial())
        #expect([-10, 0, 30].map { rescaled($0) } == [-1, -0.5, 1])
        let constant = try FrozenVoxels([5, 5, 5] as [Float])
        let flat = try Normalization.rescale(lower: 0, upper: 1).map(for: constant, view: view, scope: .serial())
        #expect(flat(5) == 0)
        let line = try Normalization.linear(mean: 10, deviation: 4).map(for: image, view: view, scope: .serial())
        #expect([-10, 0, 30].map { line($0) } == [-5, -2.5, 5])
        for scheme in [Normalization.rescale(lower: 1, upper: 1), .linear(mean: 0, deviation: 0)] {
            #expect(throws: NumericsError.self) { try scheme.map(for: image, view: view, scope: .serial()) }
        }
    }

    @Test("planes become probabilities of classes, or of regions minus one half")
    func probabilities() throws {
        let model = VolumeShape(x: 2, y: 1, z: 1)
        let logits: [Float] = [0, 2, 0, -1, 0, 5]
        func probabilities(_ decision: LabelDecision) throws -> [Float] {
            let planes = try PlaneProbabilities(model: model, decision: decision)
            var found: [Float] = []
            try logits.withUnsafeBufferPointer { logits in
                try planes.withProbabilities(of: logits, scope: .serial()) { found = Array($0) }
            }
            return found
        }
        let sum = exp(2.0) + exp(-1.0) + exp(5.0)
        let classes: [Float] = [
            1 / 3, Float(exp(2.0) / sum), 1 / 3, Float(exp(-1.0) / sum), 1 / 3, Float(exp(5.0) / sum),
        ]
        #expect(largestDifference(try probabilities(.largestLogit(labels: [0, 1, 2])), classes) < 1e-6)
        let regions = logits.map { Float(1 / (1 + exp(-Double($0))) - 0.5) }
        #expect(largestDifference(try probabilities(.regions(labels: [1, 2, 3])), regions) < 1e-6)
        let other = try PlaneProbabilities(model: model, decision: .regions(labels: [1]))
        #expect(throws: NumericsError.self) {
            try logits.withUnsafeBufferPointer { try other.withProbabilities(of: $0, scope: .serial()) { _ in } }
        }
    }
}
