import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Channels of a network's input")
struct ImageChannelTests {
    @Test("a channel among others is written in its place, by every method")
    func channels() throws {
        let view = VoxelView(stored: VolumeShape(x: 6, y: 5, z: 4))
        let target = VolumeShape(x: 7, y: 4, z: 5)
        let image = try Phantom.noise(VolumeShape(x: 6, y: 5, z: 4), seed: 3).frozen()
        for rule in [ResamplingRule.image, .logits, ResamplingRule(method: .torch, order: .linear)] {
            let resampler = try ImageResampler(view: view, target: target, rule: rule)
            let alone = try resampler.resample(image, scope: .serial()).array()
            var channels = try VoxelBuffer<Float>(count: 3 * target.count)
            try channels.withUnsafeMutableBufferPointer { all in
                let second = UnsafeMutableBufferPointer(rebasing: all[target.count..<2 * target.count])
                try resampler.resample(image, into: second, scope: .serial())
            }
            let none = [Float](repeating: 0, count: target.count)
            #expect(channels.array() == none + alone + none)
        }
    }

    @Test("only voxels of the body are normalised, by every method")
    func mask() throws {
        let stored = VolumeShape(x: 20, y: 11, z: 10)
        let body = try Phantom.ball(stored, centre: SIMD3(9, 5, 5), radius: 4.5, inside: Float(3), outside: 0).frozen()
        let image = try Phantom.noise(stored, seed: 8, in: 5..<9).frozen()
        let orientation = AxisOrientation(source: [1, 2, 0], reversed: [false, true, false])
        let box = VoxelBox(lower: SIMD3(1, 0, 3), upper: SIMD3(10, 10, 19))
        let view = try VoxelView(stored: stored, orientation: orientation).cropped(to: box)
        let mask = try ForegroundMask(of: [body], view: view, scope: .serial())
        let map = PointwiseMap(shift: 7, divisor: 3, mask: mask)
        let cut = try Reorienter.copy(image, through: view, scope: .serial()).array()
        let mapped = zip(cut, mask.inside.array()).map { $1 == 0 ? $0 : map($0) }
        #expect(Set(mask.inside.array()) == [0, 1])
        for rule in [ResamplingRule.image, .logits, ResamplingRule(method: .torch, order: .linear)] {
            for (axis, target) in [(nil, VolumeShape(x: 7, y: 13, z: 9)), (0, VolumeShape(x: 12, y: 8, z: 9))] {
                let found = try ImageResampler(view: view, target: target, rule: rule, separateAxis: axis, map: map)
                    .resample(image, scope: .serial()).array()
                let plain = VoxelView(stored: view.shape)
                let expected = try ImageResampler(view: plain, target: target, rule: rule, separateAxis: axis)
                    .resample(FrozenVoxels(mapped), scope: .serial()).array()
                #expect(found == expected)
            }
        }
        #expect(throws: NumericsError.self) {
            let other = VoxelView(stored: stored)
            _ = try ImageResampler(view: other, target: stored, rule: .image, map: map)
        }
    }

    @Test("a rule that resamples nothing refuses another shape")
    func none() throws {
        let view = VoxelView(stored: VolumeShape(x: 4, y: 4, z: 4))
        let rule = ResamplingRule(method: .none, order: .cubic)
        #expect(throws: NumericsError.self) {
            _ = try ImageResampler(view: view, target: VolumeShape(x: 4, y: 4, z: 5), rule: rule)
        }
        let image = try Phantom.noise(view.shape, seed: 3).frozen()
        let same = try ImageResampler(view: view, target: view.shape, rule: rule)
        #expect(try same.resample(image, scope: .serial()).array() == image.array())
    }

    @Test("order 3 holds some planes, whatever the depth, and other orders nothing")
    func prediction() throws {
        let target = VolumeShape(x: 5, y: 6, z: 70)
        func bytes(_ depth: Int, _ order: ResamplingRule.Order) throws -> Int {
            let view = VoxelView(stored: VolumeShape(x: 10, y: 20, z: depth))
            let rule = ResamplingRule(order: order)
            return try ImageResampler(view: view, target: target, rule: rule).predictedWorkingBytes
        }
        #expect(try bytes(90, .linear) == 0)
        #expect(try bytes(90, .cubic) == (67 * 5 * 6 + 16 * 5 * 20) * 8)
        #expect(try bytes(900, .cubic) == bytes(90, .cubic))
        // The whole of the 512×512×800 volume of 0.84 GB goes through a window of less than a tenth of it.
        let large = try ImageResampler(
            view: VoxelView(stored: VolumeShape(x: 512, y: 512, z: 800)),
            target: VolumeShape(x: 273, y: 273, z: 533),
            rule: .image
        )
        #expect(large.predictedWorkingBytes < 64 << 20)
    }

    @Test("the prediction needs no memory for an axis as long as no memory is")
    func predictionOfLongAxis() throws {
        let resampler = try ImageResampler(
            view: VoxelView(stored: VolumeShape(x: 128, y: 2, z: 2)),
            target: VolumeShape(x: 1 << 31, y: 2, z: 2),
            rule: .image
        )
        // Two planes as they become, and two half-made ones.
        #expect(resampler.predictedWorkingBytes == (2 + 2) * (1 << 31) * 2 * 8)
    }
}
