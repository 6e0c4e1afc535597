import CNocturneKernels
import NocturneTestSupport
import Testing

/// Every class of layer, on every instruction set this processor has, against sums of products written down as they are
/// in the books.
struct ConvolutionKernelTests {
    @Test(arguments: ConvolutionLayer.all)
    func agreesWithTheDefinition(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 1)
        let task = ConvolutionTask(layer, random: &random)
        let expected = task.sumsOfProducts()
        // Rounding grows with the number of terms, not with how far they happen to cancel out.
        let scale = max(expected.lazy.map(abs).max() ?? 0, 0.1 * Double(layer.depth).squareRoot())
        for way in ConvolutionWay.available {
            let (output, _) = try #require(task.run(way))
            #expect(difference(output, expected).largest <= 1e-5 * scale, "\(way)")
        }
    }

    @Test("Minimal filtering errs hardly more than the plain sum", arguments: zip([5, 8, 24, 24], [32, 128, 32, 128]))
    func errorOfMinimalFiltering(planes: Int, channels: Int) throws {
        let layer = ConvolutionLayer("", size: [planes, 24, 24], cin: channels, cout: 32, kernel: [3, 3, 3])
        var random = SplitMix64(seed: 4)
        let task = ConvolutionTask(layer, random: &random)
        let expected = task.sumsOfProducts()
        let scale = expected.lazy.map(abs).max() ?? 0
        for way in ConvolutionWay.available where way.isa != Int(NK_CONV_ISA_BASELINE) && !way.isDirect {
            let direct = ConvolutionWay(isa: way.isa | Int(NK_CONV_DIRECT))
            let (output, _) = try #require(task.run(way))
            let (sums, _) = try #require(task.run(direct))
            let isFiltered = output != sums
            #expect(isFiltered)
            let (found, plain) = (difference(output, expected), difference(sums, expected))
            #expect(found.relative <= 2 * plain.relative, "\(way)")
            #expect(found.largest <= 3e-6 * scale, "\(way)")
        }
    }

    @Test(arguments: ConvolutionLayer.all)
    func theOrderOfChunksIsOfNoConsequence(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 2)
        let task = ConvolutionTask(layer, random: &random)
        for way in ConvolutionWay.available + ConvolutionWay.ofOtherPrecisions {
            let (forwards, sums) = try #require(task.run(way))
            let (backwards, others) = try #require(task.run(way, backwards: true))
            #expect(forwards == backwards, "\(way)")
            #expect(sums == others, "\(way)")
        }
    }

    @Test(arguments: ConvolutionLayer.all)
    func statisticsAreOfWhatWasWritten(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 3)
        let task = ConvolutionTask(layer, random: &random)
        for way in ConvolutionWay.available + ConvolutionWay.ofOtherPrecisions {
            let (output, sums) = try #require(task.run(way))
            var expected = [Double](repeating: 0, count: 2 * layer.cout)
            for (index, value) in output.enumerated() {
                expected[index % layer.cout] += Double(value)
                expected[layer.cout + index % layer.cout] += Double(value) * Double(value)
            }
            // On matrix tiles the sums of some voxels are float32, of values before they are rounded.
            #expect(difference(sums, expected).relative < (way.hasTiles ? 1e-6 : 1e-12), "\(way)")
        }
    }

    /// Outputs of more than 32 MiB, which are stored past the caches where they consist of whole cache lines.
    @Test(
        "Large outputs do not depend on how they are stored",
        arguments: [
            ConvolutionLayer("", size: [64, 64, 68], cin: 32, cout: 32, kernel: [3, 3, 3]),
            ConvolutionLayer("", size: [1, 508, 512], cin: 16, cout: 48, kernel: [1, 3, 3]),
            ConvolutionLayer("", size: [64, 64, 68], cin: 1, cout: 32, kernel: [3, 3, 3]),
            ConvolutionLayer(
                "",
                size: [33, 32, 33],
                cin: 64,
                cout: 32,
                kernel: [2, 2, 2],
                stride: [2, 2, 2],
                transposed: true
            ),
        ]
    )
    func largeOutputs(layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 8)
        let task = ConvolutionTask(layer, random: &random)
        let (expected, _) = try #require(task.run(ConvolutionWay(isa: Int(NK_CONV_ISA_BASELINE))))
        for way in ConvolutionWay.available where way.isa != Int(NK_CONV_ISA_BASELINE) {
            let (output, sums) = try #require(task.run(way))
            let (other, others) = try #require(task.run(way, aligned: false))
            #expect(output == other, "\(way)")
            #expect(sums == others, "\(way)")
            #expect(difference(output, expected.map(Double.init)).relative <= 1e-5, "\(way)")
        }
    }

    @Test
    func chunksDoNotDependOnAnythingButTheLayer() throws {
        let layer = ConvolutionLayer("", size: [24, 24, 24], cin: 64, cout: 64, kernel: [3, 3, 3])
        let weights = [Float](repeating: 0, count: layer.weightCount)
        let counts = try ConvolutionWay.available.map { way in
            try (0..<2).map { _ in
                let plan = try #require(nk_conv_plan_create([layer.description(way)], weights, nil))
                defer { nk_conv_plan_destroy(plan) }
                return nk_conv_chunk_count(plan)
            }
        }
        #expect(counts.allSatisfy { $0[0] == $0[1] && $0[0] > 1 })
    }

    @Test
    func nonsenseGivesNoPlan() {
        let layer = ConvolutionLayer("", size: [4, 4, 4], cin: 4, cout: 4, kernel: [3, 3, 3])
        let weights = [Float](repeating: 0, count: layer.weightCount)
        let changes: [(inout nk_conv_desc) -> Void] = [
            { $0.groups = 3 }, { $0.cin = 0 }, { $0.out_x = 0 }, { $0.stride_y = 0 }, { $0.dilation_z = -1 },
            { $0.kz = 1 << 25 }, { $0.isa = 77 }, { $0.precision = 3 }, { $0.precision = -1 },
        ]
        for change in changes {
            var description = layer.description(ConvolutionWay(isa: 0))
            change(&description)
            #expect(nk_conv_plan_create(&description, weights, nil) == nil)
        }
    }

    @Test
    func countsOperations() throws {
        let layer = ConvolutionLayer("", size: [8, 8, 8], cin: 3, cout: 5, kernel: [3, 3, 3])
        let weights = [Float](repeating: 0, count: layer.weightCount)
        let plan = try #require(nk_conv_plan_create([layer.description(ConvolutionWay(isa: 0))], weights, nil))
        defer { nk_conv_plan_destroy(plan) }
        #expect(nk_conv_plan_operations(plan) == Double(2 * 512 * 27 * 3 * 5))
    }
}

/// How to compute: an instruction set, with or without minimal filtering, and what is multiplied.
struct ConvolutionWay: CustomStringConvertible, Sendable {
    var isa: Int
    var precision = Int(NK_CONV_FLOAT32)

    var isDirect: Bool { isa & Int(NK_CONV_DIRECT) != 0 }
    var hasTiles: Bool { [Int(NK_CONV_ISA_AMX), Int(NK_CONV_ISA_AMX_MODEL)].contains(isa & 0xFF) }

    var description: String {
        let name = nk_conv_instruction_set(Int32(isa), Int32(precision)).map { String(cString: $0) } ?? "\(isa)"
        let operands = precision == NK_CONV_BFLOAT16 ? ", bfloat16" : precision == NK_CONV_SPLIT ? ", split" : ""
        return name + operands + (isDirect ? ", direct" : "")
    }

    static let available = [
        Int(NK_CONV_ISA_BASELINE), Int(NK_CONV_ISA_AVX2), Int(NK_CONV_ISA_AVX512),
        Int(NK_CONV_ISA_AVX2) | Int(NK_CONV_DIRECT), Int(NK_CONV_ISA_AVX512) | Int(NK_CONV_DIRECT),
    ].filter { nk_conv_isa_available(Int32($0)) != 0 }.map { ConvolutionWay(isa: $0) }

    static let ofBfloat16 = [
        NK_CONV_ISA_BASELINE, NK_CONV_ISA_AVX2, NK_CONV_ISA_AVX512, NK_CONV_ISA_AVX512_BF16, NK_CONV_ISA_AMX,
        NK_CONV_ISA_AMX_MODEL,
    ].filter { nk_conv_isa_available(Int32($0)) != 0 }.flatMap { isa in
        [0, NK_CONV_DIRECT].map { ConvolutionWay(isa: Int(isa) | Int($0), precision: Int(NK_CONV_BFLOAT16)) }
    }

    /// Those with tiles.
    static let ofSplitOperands = [NK_CONV_ISA_AMX, NK_CONV_ISA_AMX_MODEL]
        .filter { nk_conv_isa_available(Int32($0)) != 0 }
        .map { ConvolutionWay(isa: Int($0) | Int(NK_CONV_DIRECT), precision: Int(NK_CONV_SPLIT)) }

    static var ofOtherPrecisions: [ConvolutionWay] { ofBfloat16 + ofSplitOperands }
}

/// The tensors that a run reads or stores as bfloat16.
struct ConvolutionHalves: OptionSet {
    let rawValue: Int
    static let sources = ConvolutionHalves(rawValue: 1)
    static let output = ConvolutionHalves(rawValue: 2)
    /// None, but a run without a residual.
    static let noResidual = ConvolutionHalves(rawValue: 4)
}

/// A layer's geometry; axes are z, y, x.
struct ConvolutionLayer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var size: [Int]
    var cin, cout: Int
    var kernel: [Int]
    var stride = [1, 1, 1]
    var pad: [Int]
    var dilation = [1, 1, 1]
    var groups = 1
    var transposed = false
    var output: [Int]
    /// Channels of the sources.
    var sources: [Int]

    /// Without `pad`, half the kernel's reach. `extra` adds to the output at the far end.
    init(
        _ name: String,
        size: [Int],
        cin: Int,
        cout: Int,
        kernel: [Int],
        stride: [Int] = [1, 1, 1],
        pad: [Int]? = nil,
        dilation: [Int] = [1, 1, 1],
        groups: Int = 1,
        transposed: Bool = false,
        extra: [Int] = [0, 0, 0],
        sources: [Int]? = nil
    ) {
        testDescription = name
        (self.size, self.cin, self.cout, self.kernel, self.stride) = (size, cin, cout, kernel, stride)
        (self.dilation, self.groups, self.transposed) = (dilation, groups, transposed)
        let padding = pad ?? (0..<3).map { transposed ? 0 : (kernel[$0] - 1) * dilation[$0] / 2 }
        self.pad = padding
        output = (0..<3).map { axis in
            let reach = (kernel[axis] - 1) * dilation[axis]
            let regular =
                transposed
                ? (size[axis] - 1) * stride[axis] - 2 * padding[axis] + reach + 1
                : (size[axis] + 2 * padding[axis] - reach - 1) / stride[axis] + 1
            return regular + extra[axis]
        }
        self.sources = sources ?? [cin]
    }

    var taps: Int { kernel[0] * kernel[1] * kernel[2] }
    var depth: Int { taps * cin / groups }
    var weightCount: Int { depth * cout }

    func description(_ way: ConvolutionWay) -> nk_conv_desc {
        func three(_ values: [Int]) -> (Int32, Int32, Int32) { (Int32(values[0]), Int32(values[1]), Int32(values[2])) }
        var result = nk_conv_desc()
        (result.in_z, result.in_y, result.in_x) = three(size)
        (result.out_z, result.out_y, result.out_x) = three(output)
        (result.cin, result.cout) = (Int32(cin), Int32(cout))
        (result.kz, result.ky, result.kx) = three(kernel)
        (result.stride_z, result.stride_y, result.stride_x) = three(stride)
        (result.pad_z, result.pad_y, result.pad_x) = three(pad)
        (result.dilation_z, result.dilation_y, result.dilation_x) = three(dilation)
        (result.groups, result.transposed) = (Int32(groups), transposed ? 1 : 0)
        (result.isa, result.precision) = (Int32(way.isa), Int32(way.precision))
        return result
    }

    static let all: [ConvolutionLayer] = [
        .init("3 × 3 × 3", size: [5, 7, 19], cin: 32, cout: 32, kernel: [3, 3, 3]),
        .init("odd channels", size: [4, 5, 17], cin: 19, cout: 37, kernel: [3, 3, 3]),
        .init("wide rows", size: [2, 3, 230], cin: 8, cout: 4, kernel: [3, 3, 3]),
        .init("many channels", size: [3, 3, 3], cin: 320, cout: 40, kernel: [3, 3, 3]),
        .init("minimal filtering", size: [4, 16, 28], cin: 32, cout: 32, kernel: [3, 3, 3]),
        .init("minimal filtering, ragged", size: [3, 13, 23], cin: 21, cout: 35, kernel: [3, 3, 3], pad: [0, 2, 0]),
        .init("minimal filtering, in two dimensions", size: [1, 33, 30], cin: 48, cout: 24, kernel: [1, 3, 3]),
        .init(
            "minimal filtering, strided planes",
            size: [9, 12, 16],
            cin: 32,
            cout: 32,
            kernel: [3, 3, 3],
            stride: [2, 1, 1]
        ),
        .init(
            "minimal filtering, several goes",
            size: [2, 24, 24],
            cin: 96,
            cout: 33,
            kernel: [3, 3, 3],
            sources: [40, 56]
        ),
        .init("minimal filtering along z", size: [16, 20, 24], cin: 32, cout: 32, kernel: [3, 3, 3]),
        .init(
            "minimal filtering along z, ragged, several goes",
            size: [14, 17, 23],
            cin: 160,
            cout: 17,
            kernel: [3, 3, 3],
            sources: [61, 99]
        ),
        .init(
            "minimal filtering along z, dilated",
            size: [15, 24, 32],
            cin: 32,
            cout: 32,
            kernel: [3, 3, 3],
            dilation: [2, 2, 2]
        ),
        .init("one channel in", size: [6, 7, 33], cin: 1, cout: 32, kernel: [3, 3, 3]),
        .init("three channels in", size: [1, 9, 31], cin: 3, cout: 20, kernel: [1, 7, 7], stride: [1, 2, 2]),
        .init("four channels in", size: [5, 6, 9], cin: 4, cout: 8, kernel: [3, 3, 3], sources: [1, 2, 1]),
        .init("few channels out", size: [4, 5, 40], cin: 5, cout: 5, kernel: [3, 3, 3]),
        .init(
            "few channels out, long kernel",
            size: [3, 6, 19],
            cin: 20,
            cout: 2,
            kernel: [1, 5, 7],
            sources: [7, 13]
        ),
        .init("one channel out", size: [5, 6, 15], cin: 33, cout: 1, kernel: [1, 1, 1]),
        .init("1 × 1 × 1", size: [5, 6, 15], cin: 64, cout: 70, kernel: [1, 1, 1], sources: [24, 40]),
        .init("1 × 1 × 1, strided", size: [5, 7, 15], cin: 32, cout: 48, kernel: [1, 1, 1], stride: [2, 2, 2]),
        .init("strided", size: [9, 10, 11], cin: 24, cout: 32, kernel: [3, 3, 3], stride: [2, 2, 2]),
        .init("strided, anisotropic", size: [5, 12, 29], cin: 16, cout: 16, kernel: [1, 3, 3], stride: [1, 2, 3]),
        .init(
            "stride beyond the kernel",
            size: [9, 10, 20],
            cin: 16,
            cout: 16,
            kernel: [2, 2, 2],
            stride: [3, 3, 3]
        ),
        .init("anisotropic", size: [4, 8, 12], cin: 17, cout: 16, kernel: [1, 3, 3], stride: [1, 1, 2]),
        .init("5 × 5 × 5", size: [6, 6, 6], cin: 6, cout: 10, kernel: [5, 5, 5]),
        .init("even kernel", size: [6, 6, 6], cin: 16, cout: 16, kernel: [2, 4, 2], extra: [1, 1, 1]),
        .init("dilated", size: [7, 9, 12], cin: 16, cout: 24, kernel: [3, 3, 3], dilation: [1, 2, 3]),
        .init(
            "dilated, minimal filtering",
            size: [6, 24, 40],
            cin: 16,
            cout: 16,
            kernel: [3, 3, 3],
            dilation: [2, 2, 2]
        ),
        .init(
            "dilated, other padding",
            size: [7, 19, 37],
            cin: 21,
            cout: 19,
            kernel: [3, 3, 3],
            pad: [1, 5, 2],
            dilation: [2, 3, 4],
            sources: [9, 12]
        ),
        .init("dilated, few channels", size: [9, 11, 26], cin: 5, cout: 5, kernel: [3, 3, 3], dilation: [4, 4, 4]),
        .init(
            "dilated, groups",
            size: [5, 12, 30],
            cin: 12,
            cout: 8,
            kernel: [3, 3, 3],
            dilation: [2, 4, 4],
            groups: 2
        ),
        .init(
            "dilated, depthwise",
            size: [7, 9, 23],
            cin: 35,
            cout: 35,
            kernel: [3, 3, 3],
            dilation: [2, 2, 3],
            groups: 35
        ),
        .init(
            "dilated, strided along one axis",
            size: [9, 10, 20],
            cin: 16,
            cout: 8,
            kernel: [3, 3, 3],
            stride: [1, 2, 1],
            dilation: [4, 2, 3]
        ),
        .init("dilated beyond the input", size: [5, 6, 9], cin: 3, cout: 4, kernel: [3, 3, 3], dilation: [4, 9, 9]),
        .init(
            "dilated and strided",
            size: [7, 9, 20],
            cin: 16,
            cout: 8,
            kernel: [3, 3, 3],
            stride: [1, 2, 2],
            dilation: [2, 1, 3]
        ),
        .init("one dimension", size: [1, 1, 300], cin: 24, cout: 24, kernel: [1, 1, 5]),
        .init("cropped", size: [6, 7, 9], cin: 8, cout: 8, kernel: [3, 3, 3], pad: [-1, 0, -1]),
        .init("much padding", size: [2, 3, 4], cin: 8, cout: 8, kernel: [3, 3, 3], pad: [4, 3, 5]),
        .init("groups", size: [4, 6, 9], cin: 36, cout: 24, kernel: [3, 3, 3], groups: 4),
        .init("groups of one in, two out", size: [4, 6, 9], cin: 6, cout: 12, kernel: [3, 3, 3], groups: 6),
        .init("depthwise", size: [5, 7, 23], cin: 35, cout: 35, kernel: [3, 3, 3], groups: 35, sources: [20, 15]),
        .init("depthwise, 5 × 5 × 5", size: [4, 7, 14], cin: 18, cout: 18, kernel: [5, 5, 5], groups: 18),
        .init("depthwise, short rows", size: [3, 8, 5], cin: 16, cout: 16, kernel: [7, 7, 7], groups: 16),
        .init(
            "depthwise, strided",
            size: [1, 9, 23],
            cin: 16,
            cout: 16,
            kernel: [1, 5, 5],
            stride: [1, 2, 2],
            groups: 16
        ),
        .init("three sources", size: [3, 4, 18], cin: 40, cout: 16, kernel: [3, 3, 3], sources: [7, 20, 13]),
        .init(
            "transposed 2 × 2 × 2",
            size: [3, 4, 17],
            cin: 40,
            cout: 33,
            kernel: [2, 2, 2],
            stride: [2, 2, 2],
            transposed: true
        ),
        .init(
            "transposed 1 × 2 × 2",
            size: [3, 6, 6],
            cin: 32,
            cout: 16,
            kernel: [1, 2, 2],
            stride: [1, 2, 2],
            transposed: true
        ),
        .init(
            "transposed 3 × 3 × 3, stride 2",
            size: [3, 4, 9],
            cin: 20,
            cout: 16,
            kernel: [3, 3, 3],
            stride: [2, 2, 2],
            pad: [1, 1, 1],
            transposed: true,
            extra: [1, 1, 1]
        ),
        .init(
            "transposed, dilated",
            size: [3, 4, 6],
            cin: 8,
            cout: 9,
            kernel: [3, 2, 3],
            stride: [2, 3, 1],
            pad: [1, 0, 2],
            dilation: [2, 1, 2],
            transposed: true
        ),
        .init(
            "transposed, stride beyond the kernel",
            size: [3, 4, 5],
            cin: 8,
            cout: 8,
            kernel: [1, 2, 2],
            stride: [2, 3, 3],
            transposed: true,
            extra: [1, 1, 1]
        ),
        .init(
            "transposed, groups",
            size: [3, 4, 5],
            cin: 12,
            cout: 8,
            kernel: [2, 2, 2],
            stride: [2, 2, 2],
            groups: 4,
            transposed: true
        ),
        .init(
            "transposed, depthwise",
            size: [3, 4, 5],
            cin: 20,
            cout: 20,
            kernel: [3, 3, 3],
            stride: [2, 2, 2],
            pad: [1, 1, 1],
            groups: 20,
            transposed: true
        ),
    ]
}

/// The nearest value of bfloat16, ties to even, of a finite number.
func bfloat16(_ value: Float) -> Float {
    let bits = value.bitPattern
    return Float(bitPattern: (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
}

/// A layer with numbers: sources with prologues, weights, bias, residual and activation.
struct ConvolutionTask {
    let layer: ConvolutionLayer
    private var sources: [(data: [Float], scale: [Float], shift: [Float], slope: Float)] = []
    let weights, bias, residual: [Float]
    let slope: Float = 0.1

    /// `scales`: whether the first source has a scale and shift.
    init(_ layer: ConvolutionLayer, random: inout SplitMix64, scales: Bool = true) {
        self.layer = layer
        let voxels = layer.size[0] * layer.size[1] * layer.size[2]
        for (index, channels) in layer.sources.enumerated() {
            let data = random.floats(voxels * channels)
            // The second has no scale.
            let scale = index == 1 || !scales ? [] : random.floats(channels, in: 0.5..<1.5)
            let shift = index == 1 || !scales ? [] : random.floats(channels)
            sources.append((data, scale, shift, [0.01, 1, 0][index]))
        }
        weights = random.floats(layer.weightCount)
        bias = random.floats(layer.cout)
        residual = random.floats(layer.output[0] * layer.output[1] * layer.output[2] * layer.cout)
    }

    /// Changes one value of the first source.
    mutating func setInput(_ value: Float, voxel: Int, channel: Int) {
        sources[0].data[voxel * layer.sources[0] + channel] = value
    }

    /// The concatenated input after the prologues.
    private func input(rounded: Bool) -> [Double] {
        let voxels = layer.size[0] * layer.size[1] * layer.size[2]
        var result: [Double] = []
        result.reserveCapacity(voxels * layer.cin)
        for voxel in 0..<voxels {
            for (source, channels) in zip(sources, layer.sources) {
                for channel in 0..<channels {
                    var value = Double(source.data[voxel * channels + channel])
                    if !source.scale.isEmpty {
                        value = value * Double(source.scale[channel]) + Double(source.shift[channel])
                    }
                    value = value < 0 ? value * Double(source.slope) : value
                    result.append(rounded ? Double(bfloat16(Float(value))) : value)
                }
            }
        }
        return result
    }

    /// What should come out, of the operands or of those rounded to bfloat16.
    func sumsOfProducts(rounded: Bool = false) -> [Double] {
        let (size, out, kernel) = (layer.size, layer.output, layer.kernel)
        let (cin, cout) = (layer.cin, layer.cout)
        var result = [Double](repeating: 0, count: residual.count)
        let input = input(rounded: rounded)
        let weights = rounded ? weights.map(bfloat16) : weights
        // Along the axes: which output meets which input at a tap.
        func pairs(_ axis: Int, _ tap: Int) -> [(input: Int, output: Int)] {
            let shift = tap * layer.dilation[axis] - layer.pad[axis]
            return layer.transposed
                ? (0..<size[axis]).map { ($0, $0 * layer.stride[axis] + shift) }.filter { 0..<out[axis] ~= $0.1 }
                : (0..<out[axis]).map { ($0 * layer.stride[axis] + shift, $0) }.filter { 0..<size[axis] ~= $0.0 }
        }
        result.withUnsafeMutableBufferPointer { result in
            for tap in 0..<layer.taps {
                let place = [tap / kernel[2] / kernel[1], tap / kernel[2] % kernel[1], tap % kernel[2]]
                let (zs, ys, xs) = (pairs(0, place[0]), pairs(1, place[1]), pairs(2, place[2]))
                let table = ofTap(tap, weights)
                for z in zs {
                    for y in ys {
                        for x in xs {
                            let from = ((z.input * size[1] + y.input) * size[2] + x.input) * cin
                            let to = ((z.output * out[1] + y.output) * out[2] + x.output) * cout
                            addProducts(input, at: from, table, to: result.baseAddress! + to)
                        }
                    }
                }
            }
            for index in result.indices {
                let value = result[index] + Double(bias[index % cout]) + Double(residual[index])
                result[index] = value < 0 ? value * Double(slope) : value
            }
        }
        return result
    }

    /// The weights of a tap: those of each input channel with the output channels of its group.
    private func ofTap(_ tap: Int, _ weights: [Float]) -> [Double] {
        let (groupIn, groupOut) = (layer.cin / layer.groups, layer.cout / layer.groups)
        return (0..<layer.cin * groupOut).map { place in
            let (i, o) = (place / groupOut, place % groupOut)
            let row = layer.transposed ? place : (i / groupIn * groupOut + o) * groupIn + i % groupIn
            return Double(weights[row * layer.taps + tap])
        }
    }

    /// Adds the products of a voxel's channels, from `first` on, with the weights of a tap.
    private func addProducts(
        _ input: [Double],
        at first: Int,
        _ weights: [Double],
        to sums: UnsafeMutablePointer<Double>
    ) {
        let (groupIn, groupOut) = (layer.cin / layer.groups, layer.cout / layer.groups)
        weights.withUnsafeBufferPointer { weights in
            for i in 0..<layer.cin {
                let (value, row, group) = (input[first + i], i * groupOut, sums + i / groupIn * groupOut)
                for o in 0..<groupOut { group[o] += value * weights[row &+ o] }
            }
        }
    }

    /// The output and its merged statistics; nil when there is no plan, or none that stores bfloat16. `aligned`: whether the
    /// output begins with a cache line. `halves`: what is stored as bfloat16; with an output of bfloat16 there is no residual.
    func run(
        _ way: ConvolutionWay,
        backwards: Bool = false,
        aligned: Bool = true,
        halves: ConvolutionHalves = []
    ) -> (output: [Float], sums: [Double])? {
        var description = layer.description(way)
        guard let plan = nk_conv_plan_create(&description, weights, bias) else { return nil }
        defer { nk_conv_plan_destroy(plan) }
        let storesHalves = halves.contains(.output)
        guard !storesHalves || nk_conv_plan_stores_bfloat16(plan) != 0 else { return nil }
        let chunks = Int(nk_conv_chunk_count(plan))
        let first = aligned ? 0 : 4
        let memory = UnsafeMutableRawPointer.allocate(byteCount: (first + residual.count) * 4, alignment: 64)
        defer { memory.deallocate() }
        let output = memory.bindMemory(to: Float.self, capacity: first + residual.count) + first
        output.initialize(repeating: .nan, count: residual.count)
        var rows = [Double](repeating: .nan, count: chunks * 2 * layer.cout)
        var sums = [Double](repeating: .nan, count: 2 * layer.cout)
        // What is left from the chunk before must not show.
        var scratch = [UInt8](repeating: 0xff, count: nk_conv_scratch_bytes(plan))
        withSources(asHalves: halves.contains(.sources)) { structs in
            structs.withUnsafeBufferPointer { structs in
                residual.withUnsafeBufferPointer { residual in
                    rows.withUnsafeMutableBufferPointer { rows in
                        var run = nk_conv_run(
                            sources: structs.baseAddress!,
                            source_count: Int32(structs.count),
                            residual: halves.isEmpty ? residual.baseAddress : nil,
                            out: output,
                            out_bfloat16: storesHalves ? 1 : 0,
                            out_slope: slope,
                            stats: rows.baseAddress
                        )
                        for chunk in backwards ? Array((0..<chunks).reversed()) : Array(0..<chunks) {
                            nk_conv_run_chunk(plan, &run, Int32(chunk), &scratch)
                        }
                    }
                }
            }
        }
        nk_conv_merge_stats(plan, rows, &sums)
        guard storesHalves else { return (Array(UnsafeBufferPointer(start: output, count: residual.count)), sums) }
        let values = (0..<residual.count).map {
            Float(bitPattern: UInt32(memory.load(fromByteOffset: first * 4 + $0 * 2, as: UInt16.self)) << 16)
        }
        return (values, sums)
    }

    /// Calls `body` with the sources as the kernels take them, after those that are made already.
    func withSources(
        asHalves: Bool,
        after made: [nk_conv_source] = [],
        _ body: ([nk_conv_source]) -> Void
    ) {
        guard made.count < sources.count else { return body(made) }
        let source = sources[made.count]
        let words = asHalves ? source.data.map { UInt16($0.bitPattern >> 16) } : []
        source.data.withUnsafeBytes { data in
            words.withUnsafeBytes { words in
                source.scale.withUnsafeBufferPointer { scale in
                    source.shift.withUnsafeBufferPointer { shift in
                        let none = source.scale.isEmpty
                        let next = nk_conv_source(
                            data: words.isEmpty ? data.baseAddress! : words.baseAddress!,
                            channels: Int32(layer.sources[made.count]),
                            bfloat16: words.isEmpty ? 0 : 1,
                            scale: none ? nil : scale.baseAddress,
                            shift: none ? nil : shift.baseAddress,
                            slope: source.slope
                        )
                        withSources(asHalves: asHalves, after: made + [next], body)
                    }
                }
            }
        }
    }

    /// Rounds the values of the sources to bfloat16.
    mutating func roundSources() {
        for index in sources.indices { sources[index].data = sources[index].data.map(bfloat16) }
    }
}
