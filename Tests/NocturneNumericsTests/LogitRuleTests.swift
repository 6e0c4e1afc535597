import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Rules and rounding of logits")
struct LogitRuleTests {
    @Test("order 3 is refused, and a rule that resamples nothing takes equal grids only")
    func rules() throws {
        let model = VolumeShape(x: 4, y: 4, z: 4)
        func accepts(_ rule: ResamplingRule, _ native: VolumeShape, axis: Int? = nil) -> Bool {
            do {
                _ = try SliceLabeler(
                    model: model,
                    native: native,
                    decision: .largestLogit(labels: [0, 1]),
                    rule: rule,
                    separateAxis: axis
                )
                return true
            } catch { return !(error is NumericsError) }
        }
        let larger = VolumeShape(x: 5, y: 5, z: 5)
        #expect(!accepts(ResamplingRule(order: .cubic), larger))
        #expect(accepts(ResamplingRule(order: .cubic), model))
        #expect(!accepts(ResamplingRule(order: .linear, orderZ: .cubic), larger, axis: 2))
        #expect(accepts(ResamplingRule(order: .linear, orderZ: .cubic), larger))
        #expect(accepts(ResamplingRule(method: .torch, order: .cubic), larger))
        #expect(!accepts(ResamplingRule(method: .none, order: .linear), larger))
        #expect(accepts(ResamplingRule(method: .none, order: .linear), model))
    }

    @Test("ties that only float16 makes go to the lower class", arguments: [SliceLabeler.Rounding.half, .single])
    func tiesOfHalf(rounding: SliceLabeler.Rounding) throws {
        let native = VolumeShape(x: 4, y: 1, z: 1)
        var labeler = try SliceLabeler(
            model: VolumeShape(x: 2, y: 1, z: 1),
            native: native,
            decision: .largestLogit(labels: [0, 1]),
            rounding: rounding
        )
        var labels = try VoxelBuffer<UInt16>(count: 4)
        try ([100, 100, 100, 100.0625] as [Float]).withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
        #expect(labels.array() == (rounding == .half ? [0, 0, 1, 1] : [0, 1, 1, 1]))
    }

    @Test("a region begins where the float32 sigmoid of a float16 is above one half")
    func smallestRegion() throws {
        let shape = VolumeShape(x: 4, y: 1, z: 1)
        let logits: [Float] = [0, 0x1p-24, 0x1p-23, -0x1p-24]
        for (rounding, expected) in [(SliceLabeler.Rounding.half, [0, 0, 5, 0]), (.single, [0, 5, 5, 0])]
            as [(_, [UInt16])]
        {
            var labeler = try SliceLabeler(
                model: shape,
                native: shape,
                decision: .regions(labels: [5]),
                rounding: rounding
            )
            var labels = try VoxelBuffer<UInt16>(count: 4)
            try logits.withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
            #expect(labels.array() == expected)
        }
    }

    @Test("a region begins above its threshold, of logits and of probabilities")
    func thresholds() throws {
        let shape = VolumeShape(x: 5, y: 1, z: 1)
        // Probabilities of 0.119, 0.182, 0.269, 0.5 and 0.881.
        let logits: [Float] = [-2, -1.5, -1, 0, 2]
        for (threshold, expected) in [(0.2, [0, 0, 5, 5, 5]), (0.5, [0, 0, 0, 0, 5]), (0.9, [0, 0, 0, 0, 0])]
            as [(Double, [UInt16])]
        {
            let decision = LabelDecision(regions: [5], threshold: threshold)
            let probabilities = try PlaneProbabilities(model: shape, decision: decision)
            for isOfProbabilities in [false, true] {
                var labeler = try SliceLabeler(
                    model: shape,
                    native: shape,
                    decision: isOfProbabilities ? decision.ofProbabilities : decision
                )
                var labels = try VoxelBuffer<UInt16>(count: 5)
                try logits.withUnsafeBufferPointer { logits in
                    guard isOfProbabilities else { return try labeler.push(logits, into: &labels) }
                    try probabilities.withProbabilities(of: logits, scope: .serial()) {
                        try labeler.push($0, into: &labels)
                    }
                }
                #expect(labels.array() == expected)
            }
            var direct = try VoxelBuffer<UInt16>(count: 5)
            var buffer = try VoxelBuffer<Float>(count: 5)
            for index in logits.indices { buffer[index] = logits[index] }
            try decision.label(buffer, into: &direct, scope: .serial())
            #expect(direct.array() == expected)
        }
    }

    /// A model voxel along one axis, and its weight for a native voxel.
    private struct Tap {
        let index: Int
        let weight: Double

        /// The two of a native voxel along an axis.
        static func pair(_ voxel: Int, _ axis: Int, of model: VolumeShape, _ native: VolumeShape) -> [Tap] {
            let n = model[axis]
            let u = (Double(voxel) + 0.5) * (Double(n) / Double(native[axis])) - 0.5
            let w0 = 1 - (u - u.rounded(.down))
            let first = Int(u.rounded(.down))
            return [
                Tap(index: min(max(first, 0), n - 1), weight: w0),
                Tap(index: min(max(first + 1, 0), n - 1), weight: 1 - w0),
            ]
        }
    }

    /// The interpolated logit of a voxel: terms of the axes but the separate one, then the two sums of that one.
    private func halfLogit(_ taps: [[Tap]], separate: Int?, _ value: (Int, Int, Int) -> Double) -> Float16 {
        func sum(_ slice: Int?) -> Double {
            let kept = taps.enumerated().map { axis, pair in axis == separate ? slice.map { [pair[$0]] } ?? [] : pair }
            var total = 0.0
            for z in kept[2] {
                for y in kept[1] {
                    for x in kept[0] {
                        let v = value(x.index, y.index, z.index)
                        let byZ = separate == 2 ? v : v * z.weight
                        let byY = separate == 1 ? byZ : byZ * y.weight
                        total += separate == 0 ? byY : byY * x.weight
                    }
                }
            }
            return total
        }
        guard let separate else { return Float16(sum(nil)) }
        return Float16(sum(0) * taps[separate][0].weight + sum(1) * taps[separate][1].weight)
    }

    @Test(
        "float16 at the end equals every voxel computed on its own, sure or not",
        arguments: [nil, 0, 1, 2],
        [0.004, 1, 30]
    )
    func slowHalf(separate: Int?, scale: Float) throws {
        let model = VolumeShape(x: 300, y: 3, z: 3)
        let native = VolumeShape(x: 600, y: 4, z: 5)
        var random = SplitMix64(seed: 12)
        let classes = 3
        let planes = (0..<model.z).map { _ in
            random.floats(classes * model.sliceCount, in: -scale..<scale).map { Float(Float16($0)) }
        }
        for isRegions in [false, true] {
            var expected: [UInt16] = []
            for k in 0..<native.z {
                for j in 0..<native.y {
                    for i in 0..<native.x {
                        let taps = [
                            Tap.pair(i, 0, of: model, native), Tap.pair(j, 1, of: model, native),
                            Tap.pair(k, 2, of: model, native),
                        ]
                        let logits = (0..<classes).map { c in
                            halfLogit(taps, separate: separate) { x, y, z in
                                Double(planes[z][c * model.sliceCount + y * model.x + x])
                            }
                        }
                        if isRegions {
                            expected.append(UInt16((logits.lastIndex { $0 > 0x1p-24 } ?? -1) + 1))
                        } else {
                            let best = logits.max() ?? 0
                            expected.append(UInt16(logits.firstIndex(of: best) ?? 0) + 1)
                        }
                    }
                }
            }
            var labeler = try SliceLabeler(
                model: model,
                native: native,
                decision: isRegions ? .regions(labels: [1, 2, 3]) : .largestLogit(labels: [1, 2, 3]),
                rule: ResamplingRule(order: .linear, orderZ: .linear),
                separateAxis: separate,
                rounding: .half
            )
            var labels = try VoxelBuffer<UInt16>(count: native.count)
            while let plane = labeler.neededPlane {
                try planes[plane].withUnsafeBufferPointer { try labeler.push($0, into: &labels) }
            }
            let different = zip(labels.array(), expected).count { $0 != $1 }
            #expect(different == 0, "regions \(isRegions)")
        }
    }
}
