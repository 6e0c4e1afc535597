import CNocturneKernels
import NocturneTestSupport
import Testing

@Suite("Convolutions of other operands than float32")
struct ConvolutionPrecisionTests {
    @Test("are there for every instruction set of this processor")
    func ways() {
        #expect(ConvolutionWay.ofBfloat16.contains { $0.isa == NK_CONV_ISA_BASELINE })
        // The model of matrix tiles is there wherever bfloat16 products are.
        let models = nk_conv_isa_available(Int32(NK_CONV_ISA_AMX_MODEL)) != 0
        #expect(models == (nk_conv_isa_available(Int32(NK_CONV_ISA_AVX512_BF16)) != 0))
        #expect(models == !ConvolutionWay.ofSplitOperands.isEmpty)
        for (isa, name) in [(NK_CONV_ISA_AMX_MODEL, "amx-model"), (NK_CONV_ISA_AVX512_BF16, "avx512-bf16")] where models
        {
            let found = nk_conv_instruction_set(Int32(isa), Int32(NK_CONV_BFLOAT16)).map { String(cString: $0) }
            #expect(found == name)
        }
    }

    @Test("are the sums of products of rounded operands", arguments: ConvolutionLayer.all)
    func roundedOperands(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 4)
        // A scale would make the last bit of an operand, and so which way it is rounded, a matter of taste.
        let task = ConvolutionTask(layer, random: &random, scales: false)
        let expected = task.sumsOfProducts(rounded: true)
        let scale = max(expected.lazy.map(abs).max() ?? 0, 0.1 * Double(layer.depth).squareRoot())
        for way in ConvolutionWay.ofBfloat16 where way.isDirect {
            let (output, _) = try #require(task.run(way))
            #expect(difference(output, expected).largest <= 1e-5 * scale, "\(way)")
        }
    }

    @Test("of bfloat16 err by what that rounding makes, minimal filtering included", arguments: ConvolutionLayer.all)
    func bfloat16Error(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 5)
        let task = ConvolutionTask(layer, random: &random)
        let expected = task.sumsOfProducts()
        for way in ConvolutionWay.ofBfloat16 {
            let (output, _) = try #require(task.run(way))
            let size = rootMeanSquare(expected)
            #expect(difference(output, expected).rootMeanSquare <= 6e-3 * size, "\(way)")
        }
    }

    @Test("of operands split in two have sixteen bits or more", arguments: ConvolutionLayer.all)
    func splitError(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 6)
        let task = ConvolutionTask(layer, random: &random)
        let expected = task.sumsOfProducts()
        for way in ConvolutionWay.ofSplitOperands {
            let (output, _) = try #require(task.run(way))
            #expect(difference(output, expected).relative <= 2e-5, "\(way)")
        }
    }

    private func rootMeanSquare(_ values: [Double]) -> Double {
        (values.reduce(0) { $0 + $1 * $1 } / Double(values.count)).squareRoot()
    }

    @Test("keep to the voxels that see something that is no number", arguments: ConvolutionWay.ofOtherPrecisions)
    func strangeNumbers(_ way: ConvolutionWay) throws {
        // Channels that do not fill a block, rows that do not fill a tile.
        let layer = ConvolutionLayer("", size: [3, 3, 41], cin: 21, cout: 19, kernel: [3, 3, 3])
        var random = SplitMix64(seed: 7)
        var task = ConvolutionTask(layer, random: &random)
        let (clean, _) = try #require(task.run(way))
        task.setInput(.nan, voxel: 41 * 4 + 20, channel: 3)
        let (output, _) = try #require(task.run(way))
        for voxel in 0..<3 * 3 * 41 {
            let values = output[voxel * 19..<(voxel + 1) * 19]
            if abs(voxel % 41 - 20) <= 1 {
                #expect(values.allSatisfy { $0.isNaN })
            } else if abs(voxel % 41 - 20) > 4 {
                // Minimal filtering spreads it over its tile.
                #expect(values == clean[voxel * 19..<(voxel + 1) * 19])
            }
        }
    }
}
