import CNocturneKernels
import Testing

/// What the kernels of a plan compute, against numbers written down by hand.
@Suite("The work of a convolution")
struct ConvolutionWorkTests {
    private struct Counted {
        var method: String
        var effective: Double
        var work: nk_conv_work
    }

    private func count(_ layer: ConvolutionLayer, _ way: ConvolutionWay) throws -> Counted {
        let weights = [Float](repeating: 0, count: layer.weightCount)
        let plan = try #require(nk_conv_plan_create([layer.description(way)], weights, nil))
        defer { nk_conv_plan_destroy(plan) }
        return Counted(
            method: String(cString: nk_conv_plan_method(plan)),
            effective: nk_conv_plan_operations(plan),
            work: nk_conv_plan_work(plan)
        )
    }

    /// Two for each multiply-add.
    private func operations(_ factors: Int...) -> Double { Double(factors.reduce(2, *)) }

    private static let vectors = ConvolutionWay.available.filter { $0.isa != Int(NK_CONV_ISA_BASELINE) }

    @Test("Direct: all products, of output channels padded to whole vectors", arguments: vectors.filter(\.isDirect))
    func direct(way: ConvolutionWay) throws {
        let full = ConvolutionLayer("", size: [6, 7, 9], cin: 16, cout: 32, kernel: [3, 3, 3])
        let counted = try count(full, way)
        #expect(counted.method == "direct")
        #expect(counted.effective == operations(6, 7, 9, 27, 16, 32))
        #expect(counted.work.products == counted.effective)
        #expect(counted.work.transforms == 0)
        #expect(counted.work.operands == Int32(NK_CONV_PRODUCTS_FLOAT32))
        // 24 channels are three vectors of 8, or two of 16.
        let padded = ConvolutionLayer("", size: [6, 7, 9], cin: 16, cout: 24, kernel: [3, 3, 3])
        let channels = way.isa & 0xFF == Int(NK_CONV_ISA_AVX2) ? 24 : 32
        #expect(try count(padded, way).work.products == operations(6, 7, 9, 27, 16, channels))
    }

    @Test("Transposed and strided layers multiply nothing by zero", arguments: vectors)
    func strided(way: ConvolutionWay) throws {
        // Every output voxel has one tap.
        let up = ConvolutionLayer(
            "",
            size: [4, 5, 6],
            cin: 64,
            cout: 32,
            kernel: [2, 2, 2],
            stride: [2, 2, 2],
            transposed: true
        )
        let counted = try count(up, way)
        #expect(counted.work.products == operations(8, 10, 12, 64, 32))
        #expect(counted.work.products == counted.effective)
        let down = ConvolutionLayer("", size: [8, 8, 8], cin: 32, cout: 64, kernel: [3, 3, 3], stride: [2, 2, 2])
        #expect(try count(down, way).work.products == operations(4, 4, 4, 27, 32, 64))
    }

    @Test("Minimal filtering: 36 products for tiles of 4 × 4 outputs", arguments: vectors.filter { !$0.isDirect })
    func minimal(way: ConvolutionWay) throws {
        let even = ConvolutionLayer("", size: [5, 24, 24], cin: 64, cout: 64, kernel: [3, 3, 3])
        let counted = try count(even, way)
        #expect(counted.method == "minimal 4x4")
        // Five planes of 6 × 6 tiles, each with 36 points and three taps along z.
        #expect(counted.work.products == operations(5, 6, 6, 36, 3, 64, 64))
        #expect(counted.effective == 4 * counted.work.products)
        // Tiles reach beyond the last row and the last column.
        let odd = ConvolutionLayer("", size: [5, 23, 23], cin: 64, cout: 64, kernel: [3, 3, 3])
        #expect(try count(odd, way).work.products == operations(5, 6, 6, 36, 3, 64, 64))
        // Without taps along z and with one unit, every plane is transformed once: for each of 6 × 6 tiles and 32
        // channels, 6 × 24 + 6 × 24 operations for the input and 6 × 16 + 4 × 16 for the output.
        let flat = ConvolutionLayer("", size: [8, 24, 24], cin: 32, cout: 32, kernel: [1, 3, 3])
        let planes = try count(flat, way)
        let tiles = 8 * 6 * 6
        #expect(planes.method == "minimal 4x4")
        #expect(planes.work.transforms == Double(tiles * 32 * (288 + 160)))
        // Two rows leave half of such a tile empty.
        let low = try count(ConvolutionLayer("", size: [24, 2, 24], cin: 64, cout: 64, kernel: [3, 3, 3]), way)
        #expect(low.method == "minimal 2x4")
        #expect(low.work.products == operations(24, 1, 6, 24, 3, 64, 64))
        #expect(low.effective == 3 * low.work.products)
    }

    @Test("Minimal filtering along z: 216 products for tiles of 4 × 4 × 4", arguments: vectors.filter { !$0.isDirect })
    func minimalAlongZ(way: ConvolutionWay) throws {
        let even = ConvolutionLayer("", size: [24, 24, 24], cin: 64, cout: 64, kernel: [3, 3, 3])
        let counted = try count(even, way)
        #expect(counted.method == "minimal 4x4x4")
        #expect(counted.work.products == operations(6, 6, 6, 216, 64, 64))
        #expect(counted.effective == 8 * counted.work.products)
        // Tiles reach beyond the last plane, row and column.
        let odd = ConvolutionLayer("", size: [23, 23, 23], cin: 64, cout: 64, kernel: [3, 3, 3])
        #expect(try count(odd, way).work.products == operations(6, 6, 6, 216, 64, 64))
        // In one plane no tap along z is multiplied by anything but zeros.
        let flat = ConvolutionLayer("", size: [1, 64, 64], cin: 64, cout: 64, kernel: [3, 3, 3])
        #expect(try count(flat, way).method != "minimal 4x4x4")
    }

    @Test(
        "Layers of the other tests that use tiles along z",
        arguments: ConvolutionLayer.all.filter { $0.testDescription.hasPrefix("minimal filtering along z") }
    )
    func layersAlongZ(layer: ConvolutionLayer) throws {
        for way in Self.vectors where !way.isDirect {
            #expect(try count(layer, way).method == "minimal 4x4x4", "\(way)")
        }
    }

    @Test("bfloat16 products: tiles of 2 × 2 outputs with 16 products")
    func pairs() throws {
        let isa = Int(NK_CONV_ISA_AVX512_BF16)
        guard nk_conv_isa_available(Int32(isa)) != 0 else { return }
        let way = ConvolutionWay(isa: isa, precision: Int(NK_CONV_BFLOAT16))
        let layer = ConvolutionLayer("", size: [12, 12, 12], cin: 256, cout: 256, kernel: [3, 3, 3])
        let counted = try count(layer, way)
        #expect(counted.method == "minimal 2x2")
        #expect(counted.work.products == operations(12, 6, 6, 16, 3, 256, 256))
        #expect(counted.work.operands == Int32(NK_CONV_PRODUCTS_BFLOAT16))
        // Where float32 is faster, with its larger tiles, it is used.
        let large = try count(ConvolutionLayer("", size: [96, 96, 96], cin: 64, cout: 32, kernel: [3, 3, 3]), way)
        #expect(large.method == "minimal 4x4x4")
        #expect(large.work.operands == Int32(NK_CONV_PRODUCTS_FLOAT32))
        // An odd channel makes half a pair.
        let odd = ConvolutionLayer("", size: [4, 4, 4], cin: 9, cout: 32, kernel: [1, 1, 1])
        let direct = ConvolutionWay(isa: isa | Int(NK_CONV_DIRECT), precision: Int(NK_CONV_BFLOAT16))
        #expect(try count(odd, direct).work.products == operations(64, 10, 32))
        // A few channels are multiplied as float32.
        let few = ConvolutionLayer("", size: [4, 4, 4], cin: 1, cout: 32, kernel: [3, 3, 3])
        #expect(try count(few, direct).work.operands == Int32(NK_CONV_PRODUCTS_FLOAT32))
    }

    @Test("Folded taps: products of rows with their border", arguments: vectors)
    func folded(way: ConvolutionWay) throws {
        let layer = ConvolutionLayer("", size: [4, 4, 20], cin: 16, cout: 2, kernel: [3, 3, 3])
        let counted = try count(layer, way)
        #expect(counted.method == "folded")
        // 22 voxels of 16 rows, nine taps; three taps of two channels fill part of a vector.
        let lanes = way.isa & 0xFF == Int(NK_CONV_ISA_AVX2) ? 8 : 16
        #expect(counted.work.products == operations(16, 22, 9, 16, lanes))
    }

    @Test("Depthwise: one product a tap, of channels padded to whole vectors", arguments: vectors)
    func depthwise(way: ConvolutionWay) throws {
        let layer = ConvolutionLayer("", size: [8, 8, 8], cin: 20, cout: 20, kernel: [3, 3, 3], groups: 20)
        let counted = try count(layer, way)
        #expect(counted.method == "depthwise")
        #expect(counted.effective == operations(512, 27, 20))
        // 20 channels are 24 in vectors of 8, and 32 in vectors of 16.
        let channels = way.isa & 0xFF == Int(NK_CONV_ISA_AVX2) ? 24 : 32
        #expect(counted.work.products == operations(512, 27, channels))
    }

    @Test("The baseline computes the direct method, without padding")
    func baseline() throws {
        let layer = ConvolutionLayer("", size: [5, 6, 7], cin: 19, cout: 37, kernel: [3, 3, 3])
        let counted = try count(layer, ConvolutionWay(isa: Int(NK_CONV_ISA_BASELINE)))
        #expect(counted.method == "gathered")
        #expect(counted.work.products == operations(210, 27, 19, 37))
        #expect(counted.work.products == counted.effective)
    }
}
