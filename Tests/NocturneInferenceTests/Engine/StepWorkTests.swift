import NocturneInference
import Testing

@Suite("The work of a step")
struct StepWorkTests {
    @Test("counts a convolution's inputs, outputs and weights once each, and a residual with the outputs")
    func convolution() {
        // 2 × 3 × 4 × 5 = 120 values in, 2 × 7 × 4 × 5 = 280 out.
        let bytes = StepWork.convolutionBytes(
            input: [2, 3, 4, 5],
            output: [2, 7, 4, 5],
            hasResidual: false,
            packedBytes: 1000
        )
        #expect(bytes == 2600)
        let added = StepWork.convolutionBytes(
            input: [2, 3, 4, 5],
            output: [2, 7, 4, 5],
            hasResidual: true,
            packedBytes: 1000
        )
        #expect(added == 3720)
    }

    @Test("counts two operations for each multiply-add of a matrix product")
    func product() {
        // Six products of 2 × 5 by 5 × 3, with one matrix on the right for all.
        let work = StepWork.matrixProducts(m: 2, n: 3, k: 5, count: 6, lefts: 6, rights: 1)
        #expect(work.operations == 360)
        #expect(work.products == work.operations)
        let elements = 6 * 10 + 15 + 6 * 6
        #expect(work.bytes == Double(4 * elements))
        #expect(work.kind == .matrixProduct)
    }

    @Test("counts both products of an attention, and no memory for its scores")
    func attention() {
        let work = StepWork.attention(queries: 3, keys: 7, depth: 4, columns: 2, count: 5, added: 21)
        let (scores, sums) = (2 * 3 * 7 * 4, 2 * 3 * 7 * 2)
        #expect(work.operations == Double(5 * (scores + sums)))
        // Queries 3 × 4, keys 7 × 4, values 7 × 2, results 3 × 2.
        let elements = 5 * (12 + 28 + 14 + 6) + 21
        #expect(work.bytes == Double(4 * elements))
    }

    @Test("reads what is repeated once, except where a table says which element")
    func repeated() {
        #expect(StepWork.elementsRead(dims: [4, 5, 6], strides: [30, 6, 1]) == 120)
        #expect(StepWork.elementsRead(dims: [4, 5, 6], strides: [0, 6, 1]) == 30)
        #expect(StepWork.elementsRead(dims: [4, 5, 6], strides: [0, 0, 0]) == 1)
        #expect(StepWork.elementsRead(dims: [4, 5, 6], strides: [0, 0, 1], tabled: [true, false, false]) == 24)
    }

    @Test("has no operations where nothing is multiplied")
    func traffic() {
        let work = StepWork.traffic(.pooling, elements: 10)
        #expect(work.bytes == 40)
        #expect(work.operations == 0)
        #expect(work.products == 0)
    }
}

@Suite("The profile of a network")
struct NetworkProfileTests {
    private static let peak = MachinePeak(
        threads: 2,
        instructionSet: "avx512",
        gigaflopsPerSecond: 100,
        bfloat16GigaflopsPerSecond: 200,
        gigabytesPerSecond: 10
    )

    private static func convolution(_ operands: StepWork.Operands) -> StepWork {
        var work = StepWork(.convolution, method: "minimal 4x4")
        (work.operations, work.products, work.transforms) = (60e9, 20e9, 4e9)
        work.operands = operands
        work.bytes = 2e9
        return work
    }

    @Test("gives rates and shares of the peak for steps, kinds and all")
    func figures() throws {
        var copy = StepWork(.copy)
        copy.bytes = 4e9
        let profile = NetworkProfile(
            titles: ["a", "b", "c"],
            works: [Self.convolution(.float32), copy, Self.convolution(.bfloat16)],
            seconds: [0.5, 1, 0.5],
            peak: Self.peak
        )
        let first = profile.steps[0]
        #expect(first.title == "a")
        #expect(first.method == "minimal 4x4")
        #expect(first.figures.timeShare == 0.25)
        #expect(isNear(first.figures.effectiveGigaflopsPerSecond, 120))
        #expect(isNear(first.figures.realGigaflopsPerSecond, 48))
        // 24 GFLOP at 100 GFLOP/s are 0.24 s of 0.5 s.
        #expect(isNear(try #require(first.figures.arithmeticShare), 0.48))
        #expect(isNear(first.figures.gigabytesPerSecond, 4))
        #expect(isNear(first.figures.memoryShare, 0.4))
        let second = profile.steps[1].figures
        #expect(second.arithmeticShare == nil)
        #expect(isNear(second.memoryShare, 0.4))
        // 20 GFLOP at 200 GFLOP/s and 4 GFLOP at 100 GFLOP/s are 0.14 s.
        #expect(isNear(try #require(profile.steps[2].figures.arithmeticShare), 0.28))

        #expect(profile.kinds.map(\.kind) == [.convolution, .copy])
        #expect(profile.kinds.map(\.steps) == [2, 1])
        #expect(profile.kinds[0].figures.seconds == 1)
        #expect(isNear(try #require(profile.kinds[0].figures.arithmeticShare), 0.38))
        #expect(profile.total.timeShare == 1)
        #expect(profile.total.bytes == 8e9)
        #expect(isNear(try #require(profile.total.arithmeticShare), 0.19))
    }

    @Test("leaves out shares of a peak that was not measured, and rates of no time")
    func unknown() {
        let tiles = NetworkProfile(
            titles: ["a", "b"],
            works: [Self.convolution(.tiles), Self.convolution(.float32)],
            seconds: [1, 0],
            peak: Self.peak
        )
        #expect(tiles.steps[0].figures.arithmeticShare == nil)
        #expect(tiles.kinds[0].figures.arithmeticShare == nil)
        #expect(tiles.steps[1].figures.realGigaflopsPerSecond == 0)
        #expect(tiles.steps[1].figures.arithmeticShare == nil)
        var plain = Self.peak
        plain.bfloat16GigaflopsPerSecond = nil
        #expect(plain.leastSeconds(of: Self.convolution(.bfloat16)) == nil)
    }

    private func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-12 * abs(b) }
}
