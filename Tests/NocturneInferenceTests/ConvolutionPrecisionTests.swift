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

    @Test("on matrix tiles read and store bfloat16", arguments: ConvolutionLayer.all.filter { $0.cin / $0.groups > 4 })
    func bfloat16Memory(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 9)
        var task = ConvolutionTask(layer, random: &random)
        task.roundSources()
        for way in ConvolutionWay.ofBfloat16 where way.hasTiles {
            let (expected, sums) = try #require(task.run(way, halves: .noResidual))
            let (output, others) = try #require(task.run(way, halves: .sources))
            #expect(output == expected, "\(way)")
            #expect(sums == others, "\(way)")
            let stores = layer.cout / layer.groups % 32 == 0
            let halves = task.run(way, halves: [.sources, .output])
            #expect((halves != nil) == stores, "\(way)")
            guard let halves else { continue }
            #expect(halves.output == expected.map(bfloat16), "\(way)")
            #expect(halves.sums == sums, "\(way)")
        }
    }

    @Test("on matrix tiles are those of the model to the bit", arguments: ConvolutionLayer.all)
    func model(_ layer: ConvolutionLayer) throws {
        guard nk_conv_isa_available(Int32(NK_CONV_ISA_AMX)) != 0 else { return }
        var random = SplitMix64(seed: 10)
        let task = ConvolutionTask(layer, random: &random)
        for precision in [NK_CONV_BFLOAT16, NK_CONV_SPLIT] {
            func run(_ isa: Int) throws -> (output: [Float], sums: [Double]) {
                let way = ConvolutionWay(isa: isa | Int(NK_CONV_DIRECT), precision: Int(precision))
                return try #require(task.run(way))
            }
            let (found, expected) = (try run(Int(NK_CONV_ISA_AMX)), try run(Int(NK_CONV_ISA_AMX_MODEL)))
            #expect(found.output == expected.output)
            #expect(found.sums == expected.sums)
        }
    }

    @Test("of operands split in three err no more than float32", arguments: ConvolutionLayer.all)
    func splitError(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 6)
        let task = ConvolutionTask(layer, random: &random)
        let expected = task.sumsOfProducts()
        for way in ConvolutionWay.ofSplitOperands {
            let (output, _) = try #require(task.run(way))
            #expect(difference(output, expected).relative <= 3e-6, "\(way)")
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
