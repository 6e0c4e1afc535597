import NocturneConcurrency
import NocturneCore
import NocturneNumerics
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

    @Test("ties that only float16 makes go to the lower class", arguments: [LogitRounding.half, .single])
    func tiesOfHalf(rounding: LogitRounding) throws {
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
        for (rounding, expected) in [(LogitRounding.half, [0, 0, 5, 0]), (.single, [0, 5, 5, 0])] as [(_, [UInt16])] {
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
}
