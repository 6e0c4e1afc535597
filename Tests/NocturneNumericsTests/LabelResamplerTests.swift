import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Labels as channels on another grid")
struct LabelResamplerTests {
    private func oneHot(
        _ labels: [UInt16],
        _ resampler: LabelResampler,
        mask: ForegroundMask? = nil,
        values: [UInt16],
        scope: ComputeScope = .serial()
    ) throws -> [Float] {
        var result = try VoxelBuffer<Float>(count: values.count * resampler.target.count)
        try result.withUnsafeMutableBufferPointer {
            try resampler.oneHot(FrozenVoxels(labels), mask: mask, values: values, into: $0, scope: scope)
        }
        return result.array()
    }

    /// A row along an axis; −1 where nothing else is.
    private func row(_ labels: [Int], to count: Int, axis: Int) throws -> [Int] {
        var stored = VolumeShape(x: 1, y: 1, z: 1)
        stored[axis] = labels.count
        var target = stored
        target[axis] = count
        let view = VoxelView(stored: stored)
        let body = try FrozenVoxels(labels.map { Float($0 == -1 ? 0 : 1) })
        let mask = try ForegroundMask(of: [body], view: view, scope: .serial())
        let resampler = try LabelResampler(view: view, target: target)
        let channels = try oneHot(labels.map { UInt16(max($0, 0)) }, resampler, mask: mask, values: [0, 1, 2])
        return (0..<count).map { place in (0..<3).first { channels[$0 * count + place] == 1 } ?? -1 }
    }

    @Test("rows come out as nnU-Net's, along every axis", arguments: [0, 1, 2])
    func worked(axis: Int) throws {
        #expect(try row([0, 0, 1, 1, 2, 2], to: 4, axis: axis) == [0, 1, 1, 2])
        #expect(try row([0, 0, 1, 1, 2, 2], to: 3, axis: axis) == [0, 1, 2])
        #expect(try row([0, -1, 1, 1, 2, 0], to: 12, axis: axis) == [0, 0, -1, -1, 1, 1, 1, 1, 2, 2, 0, 0])
    }

    @Test("an oriented, cropped view gives what its voxels give, whatever the number of threads")
    func oriented() async throws {
        let stored = VolumeShape(x: 14, y: 9, z: 11)
        var random = SplitMix64(seed: 6)
        let labels = (0..<stored.count).map { _ in UInt16(random.unit() * 4) }
        let image = (0..<stored.count).map { _ in random.unit() < 0.6 ? Float(1) : 0 }
        let target = VolumeShape(x: 12, y: 13, z: 5)
        for orientation in allOrientations {
            let box = VoxelBox(lower: SIMD3(1, 0, 2), upper: SIMD3(8, 9, 9))
            let view = try VoxelView(stored: stored, orientation: orientation).cropped(to: box)
            let mask = try ForegroundMask(of: [FrozenVoxels(image)], view: view, scope: .serial())
            let cut = try Reorienter.copy(FrozenVoxels(labels), through: view, scope: .serial()).array()
            let body = mask.inside.array().map { Float($0) }
            let plain = VoxelView(stored: view.shape)
            let expected = try oneHot(
                cut,
                LabelResampler(view: plain, target: target),
                mask: ForegroundMask(of: [FrozenVoxels(body)], view: plain, scope: .serial()),
                values: [3, 0, 1]
            )
            let resampler = try LabelResampler(view: view, target: target)
            let results = try await resultsForWidths([1, 3]) { scope in
                try oneHot(labels, resampler, mask: mask, values: [3, 0, 1], scope: scope)
            }
            #expect(results.allSatisfy { $0 == expected })
        }
    }

    @Test("equal shapes give the labels themselves, whatever the rule")
    func unchanged() throws {
        let shape = VolumeShape(x: 3, y: 4, z: 5)
        let labels = (0..<shape.count).map { UInt16($0 * 7 % 3) }
        for rule in [ResamplingRule.logits, .image, ResamplingRule(method: .none, order: .linear)] {
            let resampler = try LabelResampler(view: VoxelView(stored: shape), target: shape, rule: rule)
            let found = try oneHot(labels, resampler, values: [2, 9])
            #expect(found == labels.map { $0 == 2 ? 1 : 0 } + labels.map { _ in 0 })
        }
    }

    @Test("order 3, and sizes and masks that do not fit, are refused")
    func hostile() throws {
        let view = VoxelView(stored: VolumeShape(x: 4, y: 4, z: 4))
        let target = VolumeShape(x: 3, y: 3, z: 3)
        #expect(throws: NumericsError.self) { _ = try LabelResampler(view: view, target: target, rule: .image) }
        #expect(throws: NumericsError.self) {
            let rule = ResamplingRule(order: .linear, orderZ: .cubic)
            _ = try LabelResampler(view: view, target: target, rule: rule, separateAxis: 0)
        }
        #expect(throws: NumericsError.self) {
            _ = try LabelResampler(view: view, target: VolumeShape(x: 0, y: 1, z: 1))
        }
        let resampler = try LabelResampler(view: view, target: target)
        #expect(throws: NumericsError.self) { _ = try oneHot([1, 2, 3], resampler, values: [1]) }
        let labels = [UInt16](repeating: 1, count: 64)
        var small = try VoxelBuffer<Float>(count: 26)
        #expect(throws: NumericsError.self) {
            try small.withUnsafeMutableBufferPointer {
                try resampler.oneHot(FrozenVoxels(labels), values: [1], into: $0, scope: .serial())
            }
        }
        let other = VoxelView(stored: VolumeShape(x: 64, y: 1, z: 1))
        let body = try FrozenVoxels([Float](repeating: 1, count: 64))
        let mask = try ForegroundMask(of: [body], view: other, scope: .serial())
        #expect(throws: NumericsError.self) { _ = try oneHot(labels, resampler, mask: mask, values: [1]) }
    }
}
