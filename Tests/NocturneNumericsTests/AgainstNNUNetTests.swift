import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Resampling against nnU-Net's own functions")
struct AgainstNNUNetTests {
    @Test("images come out bit for bit, of torch but for its fused products")
    func images() throws {
        let fixtures = try NNUNetFixtures.load()
        for test in fixtures.images {
            let resampler = try ImageResampler(
                view: VoxelView(stored: fixtures.source),
                target: test.shape,
                rule: test.rule,
                separateAxis: test.separateAxis
            )
            let found = try resampler.resample(FrozenVoxels(fixtures.scan), scope: .serial()).array()
            let expected: [Float] = numbers(test.result)
            if test.method == .torch {
                // A few units in the last place of the largest terms.
                let apart = difference(found, expected)
                #expect(apart.relative < 5e-7, "\(test.name): \(apart)")
            } else {
                #expect(found == expected, "\(test.name)")
            }
        }
    }

    @Test("logits become the labels of its float16, classes and regions, bit for bit")
    func logits() throws {
        let fixtures = try NNUNetFixtures.load()
        let (source, scores) = (fixtures.source, fixtures.scores)
        let planes = (0..<source.z).map { z -> [Float] in
            (0..<3).flatMap { c -> ArraySlice<Float> in
                let start = (c * source.z + z) * source.sliceCount
                return scores[start..<start + source.sliceCount]
            }
        }
        for test in fixtures.decisions {
            for decision in [LabelDecision.largestLogit(labels: [0, 1, 2]), .regions(labels: [1, 2, 3])] {
                var labeler = try SliceLabeler(
                    model: source,
                    native: test.shape,
                    decision: decision,
                    rule: test.rule,
                    separateAxis: test.separateAxis,
                    rounding: .half
                )
                var labels = try VoxelBuffer<UInt16>(count: test.shape.count)
                while let plane = labeler.neededPlane {
                    try planes[plane].withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
                }
                let isRegions = decision == .regions(labels: [1, 2, 3])
                let expected: [UInt8] = numbers(isRegions ? test.regions : test.classes)
                let different = zip(labels.array(), expected).count { $0 != UInt16($1) }
                // Torch's sums differ in the last bit of float32, and these logits are chosen to be almost equal.
                let allowed = test.method == .torch ? expected.count / 50 : 0
                #expect(different <= allowed, "\(test.name), regions \(isRegions): \(different) of \(expected.count)")
            }
        }
    }

    @Test("labels with a body become the channels of its labels, bit for bit")
    func labels() async throws {
        let fixtures = try NNUNetFixtures.load()
        let view = VoxelView(stored: fixtures.source)
        let mask = try ForegroundMask(of: [FrozenVoxels(fixtures.body)], view: view, scope: .serial())
        let values: [UInt16] = [0, 1, 2, 3, 7]
        for test in fixtures.segmentations {
            let resampler = try LabelResampler(
                view: view,
                target: test.shape,
                rule: test.rule,
                separateAxis: test.separateAxis
            )
            let expected: [Int16] = numbers(test.result)
            #expect(expected.contains(-1) && Set(expected).count == 6)
            let channels = values.flatMap { value in expected.map { $0 == Int16(value) ? Float(1) : 0 } }
            let results = try await resultsForWidths { scope in
                var found = try VoxelBuffer<Float>(count: channels.count)
                try found.withUnsafeMutableBufferPointer {
                    try resampler.oneHot(
                        FrozenVoxels(fixtures.segmentation),
                        mask: mask,
                        values: values,
                        into: $0,
                        scope: scope
                    )
                }
                return found.array()
            }
            for found in results {
                let different = zip(found, channels).count { $0 != $1 }
                #expect(different == 0, "\(test.name): \(different) of \(channels.count)")
            }
        }
    }
}
