import CNocturneKernels
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The peak of a machine")
struct MachinePeakTests {
    private static let available: [Int32] = [
        NK_PEAK_PORTABLE, NK_PEAK_AVX2, NK_PEAK_AVX512, NK_PEAK_AVX512_BF16,
    ].map { Int32($0) }.filter { nk_peak_available($0) != 0 }

    @Test("Every multiply-add of the loops is computed", arguments: available)
    func products(kind: Int32) {
        let (accumulators, lanes) = (Int(nk_peak_accumulators(kind)), Int(nk_peak_lanes(kind)))
        let step = kind == Int32(NK_PEAK_AVX512_BF16) ? 2 : 1
        for rounds in [0, 1, 1000] {
            // Accumulator i begins with i in all its lanes.
            let expected = (0..<accumulators).reduce(0) { $0 + lanes * ($1 + step * rounds) }
            #expect(nk_peak_products(kind, Int64(rounds)) == Double(expected))
        }
        #expect(nk_peak_operations(kind) == Double(2 * accumulators * lanes * step))
    }

    @Test("The loop is that of the instruction set, and there is none for matrix tiles")
    func kinds() {
        let float32 = Int32(NK_CONV_PRODUCTS_FLOAT32)
        for (isa, kind) in [(NK_CONV_ISA_AVX2, NK_PEAK_AVX2), (NK_CONV_ISA_AVX512, NK_PEAK_AVX512)] {
            let expected = nk_conv_isa_available(Int32(isa)) != 0 ? Int32(kind) : -1
            #expect(nk_peak_kind(Int32(isa), float32) == expected)
            #expect(nk_peak_kind(Int32(isa) | Int32(NK_CONV_DIRECT), float32) == expected)
        }
        #expect(nk_peak_available(nk_peak_kind(Int32(NK_CONV_ISA_BASELINE), float32)) != 0)
        #expect(nk_peak_kind(Int32(NK_CONV_ISA_AUTO), Int32(NK_CONV_PRODUCTS_TILES)) == -1)
        #expect(nk_peak_kind(99, float32) == -1)
        #expect(nk_peak_available(99) == 0)
        #expect(nk_peak_products(99, 10) == 0)
        #expect(String(cString: nk_peak_name(Int32(NK_PEAK_PORTABLE))) == "portable")
    }

    @Test("Copies are complete, through the caches and past them", arguments: [Int32(0), 1], [0, 3, 4, 1031])
    func copies(streams: Int32, count: Int) {
        let source = (0..<1031).map { Float($0) + 0.5 }
        // Copies past the caches need an address that is a multiple of 16.
        let target = UnsafeMutableRawPointer.allocate(byteCount: 4 * 1031, alignment: 64)
        defer { target.deallocate() }
        let values = target.initializeMemory(as: Float.self, repeating: -1, count: 1031)
        nk_peak_copy(source, values, count, streams)
        let found = (0..<1031).map { values[$0] }
        #expect(found == (0..<1031).map { $0 < count ? Float($0) + 0.5 : -1 })
    }

    @Test("A measurement has rates of products and of copies", arguments: [1, 2])
    func measured(width: Int) async throws {
        let pool = try ComputePool(width: width)
        defer { pool.shutdown() }
        let peak = try await pool.run {
            try MachinePeak.measure(
                instructions: 0,
                bfloat16: true,
                effort: MachinePeak.Effort(seconds: 0.002, repeats: 2, copiedBytes: 1 << 21),
                scope: ComputeScope(pool: pool, flag: CancellationFlag())
            )
        }
        #expect(peak.threads == width)
        #expect(peak.gigaflopsPerSecond > 0)
        #expect(peak.gigabytesPerSecond > 0)
        #expect(["portable", "avx2", "avx512"].contains(peak.instructionSet))
        let hasPairs = nk_conv_isa_available(Int32(NK_CONV_ISA_AVX512_BF16)) != 0
        #expect((peak.bfloat16GigaflopsPerSecond != nil) == hasPairs)
    }
}
