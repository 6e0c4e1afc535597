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
                _ = try SlabLabeler(
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

    @Test("ties that only float16 makes go to the lower class", arguments: [SlabLabeler.Rounding.half, .single])
    func tiesOfHalf(rounding: SlabLabeler.Rounding) throws {
        let native = VolumeShape(x: 4, y: 1, z: 1)
        var labeler = try SlabLabeler(
            model: VolumeShape(x: 2, y: 1, z: 1),
            native: native,
            decision: .largestLogit(labels: [0, 1]),
            rounding: rounding
        )
        var labels = try VoxelBuffer<UInt16>(count: 4)
        _ = try ([100, 100, 100, 100.0625] as [Float]).withUnsafeBufferPointer {
            try labeler.push($0, into: &labels, scope: .serial())
        }
        #expect(labels.array() == (rounding == .half ? [0, 0, 1, 1] : [0, 1, 1, 1]))
    }

    @Test("a region begins where the float32 sigmoid of a float16 is above one half")
    func smallestRegion() throws {
        let shape = VolumeShape(x: 4, y: 1, z: 1)
        let logits: [Float] = [0, 0x1p-24, 0x1p-23, -0x1p-24]
        for (rounding, expected) in [(SlabLabeler.Rounding.half, [0, 0, 5, 0]), (.single, [0, 5, 5, 0])]
            as [(_, [UInt16])]
        {
            var labeler = try SlabLabeler(
                model: shape,
                native: shape,
                decision: .regions(labels: [5]),
                rounding: rounding
            )
            var labels = try VoxelBuffer<UInt16>(count: 4)
            _ = try logits.withUnsafeBufferPointer { try labeler.push($0, into: &labels, scope: .serial()) }
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
                var labeler = try SlabLabeler(
                    model: shape,
                    native: shape,
                    decision: isOfProbabilities ? decision.ofProbabilities : decision
                )
                var labels = try VoxelBuffer<UInt16>(count: 5)
                try logits.withUnsafeBufferPointer { logits in
                    guard isOfProbabilities else {
                        _ = try labeler.push(logits, into: &labels, scope: .serial()); return
                    }
                    try probabilities.withProbabilities(of: logits, scope: .serial()) {
                        _ = try labeler.push($0, into: &labels, scope: .serial())
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
        func taps(_ index: Int, _ axis: Int) -> (Int, Int, Double, Double) {
            let n = model[axis]
            let u = (Double(index) + 0.5) * (Double(n) / Double(native[axis])) - 0.5
            let w0 = 1 - (u - u.rounded(.down))
            let first = Int(u.rounded(.down))
            return (min(max(first, 0), n - 1), min(max(first + 1, 0), n - 1), w0, 1 - w0)
        }
        for isRegions in [false, true] {
            var expected: [UInt16] = []
            for k in 0..<native.z {
                for j in 0..<native.y {
                    for i in 0..<native.x {
                        let (x, y, z) = (taps(i, 0), taps(j, 1), taps(k, 2))
                        let logits = (0..<classes).map { c -> Float16 in
                            /// Terms of the axes but the separate one, then its two sums.
                            func sum(_ slice: Int?) -> Double {
                                var total = 0.0
                                for (c0, wz) in [(z.0, z.2), (z.1, z.3)].enumerated().filter({
                                    separate != 2 || $0.offset == slice
                                }).map(\.element) {
                                    for (b0, wy) in [(y.0, y.2), (y.1, y.3)].enumerated().filter({
                                        separate != 1 || $0.offset == slice
                                    }).map(\.element) {
                                        for (a0, wx) in [(x.0, x.2), (x.1, x.3)].enumerated().filter({
                                            separate != 0 || $0.offset == slice
                                        }).map(\.element) {
                                            let v = Double(planes[c0][c * model.sliceCount + b0 * model.x + a0])
                                            let byZ = separate == 2 ? v : v * wz
                                            let byY = separate == 1 ? byZ : byZ * wy
                                            total += separate == 0 ? byY : byY * wx
                                        }
                                    }
                                }
                                return total
                            }
                            guard let separate else { return Float16(sum(nil)) }
                            let last = separate == 0 ? x : separate == 1 ? y : z
                            return Float16(sum(0) * last.2 + sum(1) * last.3)
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
            var labeler = try SlabLabeler(
                model: model,
                native: native,
                decision: isRegions ? .regions(labels: [1, 2, 3]) : .largestLogit(labels: [1, 2, 3]),
                rule: ResamplingRule(order: .linear, orderZ: .linear),
                separateAxis: separate,
                rounding: .half
            )
            var labels = try VoxelBuffer<UInt16>(count: native.count)
            while labeler.nextPlane < model.z {
                _ = try planes[labeler.nextPlane].withUnsafeBufferPointer {
                    try labeler.push($0, into: &labels, scope: .serial())
                }
            }
            let different = zip(labels.array(), expected).count { $0 != $1 }
            #expect(different == 0, "regions \(isRegions)")
        }
    }
}
