import CNocturneKernels
import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("Outputs over a source of their layer")
struct ConvolutionOverlapTests {
    typealias B = ONNXBytes

    static let layers: [ConvolutionLayer] = [
        .init("3 × 3 × 3", size: [50, 24, 24], cin: 32, cout: 32, kernel: [3, 3, 3]),
        .init("two sources", size: [48, 16, 24], cin: 64, cout: 32, kernel: [3, 3, 3], sources: [40, 24]),
        .init("more channels out", size: [30, 16, 16], cin: 16, cout: 48, kernel: [5, 3, 3]),
        .init("3 × 3 in planes", size: [40, 16, 16], cin: 32, cout: 16, kernel: [1, 3, 3]),
        .init("strided", size: [41, 16, 16], cin: 16, cout: 64, kernel: [3, 3, 3], stride: [2, 2, 2]),
        .init("1 × 1 × 1", size: [40, 12, 12], cin: 33, cout: 7, kernel: [1, 1, 1]),
        .init("cropped", size: [40, 16, 16], cin: 16, cout: 16, kernel: [3, 3, 3], pad: [-2, 1, 1]),
        .init("padded", size: [30, 12, 12], cin: 16, cout: 16, kernel: [3, 3, 3], pad: [5, 1, 1]),
        .init("dilated", size: [40, 16, 16], cin: 16, cout: 16, kernel: [3, 3, 3], dilation: [3, 1, 1]),
        .init(
            "transposed",
            size: [24, 12, 12],
            cin: 32,
            cout: 16,
            kernel: [2, 2, 2],
            stride: [2, 2, 2],
            transposed: true
        ),
    ]

    @Test("have the same bits when slabs run one after the other, forwards and backwards", arguments: layers)
    func sameBits(_ layer: ConvolutionLayer) throws {
        var random = SplitMix64(seed: 11)
        let task = ConvolutionTask(layer, random: &random)
        for way in ConvolutionWay.available {
            let (expected, _) = try #require(task.run(way))
            #expect(try task.runOverSource(way, backwards: false) == expected, "\(way)")
            #expect(try task.runOverSource(way, backwards: true) == expected, "\(way)")
        }
    }

    @Test("the planes of slabs follow each other and are those that the definition reads", arguments: layers)
    func planes(_ layer: ConvolutionLayer) throws {
        for way in ConvolutionWay.available {
            var description = layer.description(way)
            let weights = [Float](repeating: 0, count: layer.weightCount)
            let plan = try #require(nk_conv_plan_create(&description, weights, nil))
            defer { nk_conv_plan_destroy(plan) }
            let slabs = (0..<nk_conv_slab_count(plan)).map { nk_conv_slab_of(plan, $0) }
            if layer.size[0] == 50 { #expect(slabs.count > 1, "\(way)") }
            var (chunks, planes) = (Int32(0), Int32(0))
            for slab in slabs {
                #expect(slab.first_chunk == chunks && slab.written_from == planes)
                (chunks, planes) = (chunks + slab.chunk_count, slab.written_to)
                for plane in slab.written_from..<slab.written_to {
                    let taps = layer.planesRead(by: Int(plane))
                    #expect(taps.allSatisfy { slab.read_from <= $0 && $0 < slab.read_to }, "\(way)")
                }
            }
            #expect(chunks == nk_conv_chunk_count(plan) && Int(planes) == layer.output[0])
        }
    }

    @Test(
        "take less memory in a network, whose results are the same as with many threads",
        .enabled(if: nk_conv_isa_available(Int32(NK_CONV_ISA_AVX2)) != 0)
    )
    func network() async throws {
        var random = SplitMix64(seed: 12)
        // Three layers of 8 channels at 96³; their division is that of one instruction set.
        var (nodes, tensors) = ([[UInt8]](), [[UInt8]]())
        for layer in 0..<3 {
            let channels: Int64 = layer == 0 ? 1 : 8
            let weights = random.floats(Int(channels) * 8 * 27, in: -0.1..<0.1)
            let raw = weights.withUnsafeBytes(Array.init)
            tensors.append(B.tensor("w\(layer)", dims: [8, channels, 3, 3, 3], type: 1, raw: raw))
            let pads = B.attribute("pads", ints: [1, 1, 1, 1, 1, 1])
            nodes.append(B.node("Conv", ["v\(layer)", "w\(layer)"], ["v\(layer + 1)"], attributes: [pads]))
        }
        let data = B.model(
            nodes: nodes,
            tensors: tensors,
            inputs: [B.value("v0", dims: [1, 1, 96, 96, 96])],
            outputs: [B.value("v3", dims: [1, 8, 96, 96, 96])]
        )
        let input = Tensor(shape: [1, 1, 96, 96, 96], values: random.floats(96 * 96 * 96))
        try await TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "layers.onnx")
            let engine = BuiltinEngine(environment: ["NOCTURNE_ISA": "avx2"])
            let network = try engine.load(onnx: file.path, precision: .float32)
            let few = try network.workspaceBytes(inputShapes: [:], width: 8)
            let many = try network.workspaceBytes(inputShapes: [:], width: 9)
            // More than half of a tensor, and much more than the scratch memory of a thread.
            #expect(many - few > 8 * 96 * 96 * 96 * 4 / 2)
            let results = try await resultsForWidths([1, 2, 9]) { scope in
                try network.makeSession(inputShapes: [:], width: scope.width).run(["v0": input], scope: scope)
            }
            #expect(results.allSatisfy { $0 == results[0] })
        }
    }
}

extension ConvolutionLayer {
    /// The planes along z inside the input that a plane of the output depends on.
    fileprivate func planesRead(by plane: Int) -> [Int] {
        (0..<kernel[0]).compactMap { tap in
            let reach = tap * dilation[0] - pad[0]
            guard transposed else { return plane * stride[0] + reach }
            return (plane - reach) % stride[0] == 0 ? (plane - reach) / stride[0] : nil
        }
        .filter { 0..<size[0] ~= $0 }
    }
}

extension ConvolutionTask {
    /// The output, when it begins as shortly before the first source as its slabs allow, or after it.
    fileprivate func runOverSource(_ way: ConvolutionWay, backwards: Bool) throws -> [Float] {
        var description = layer.description(way)
        let plan = try #require(nk_conv_plan_create(&description, weights, bias))
        defer { nk_conv_plan_destroy(plan) }
        let slabs = (0..<nk_conv_slab_count(plan)).map { nk_conv_slab_of(plan, $0) }
        let sourceCount = layer.size.reduce(layer.sources[0], *)
        let (read, written) = (sourceCount / layer.size[0], residual.count / layer.output[0])
        // Floats by which the first to begin is before the other: by the definition, for each pair of slabs.
        var distance = 0
        for (early, slab) in slabs.enumerated() {
            for (late, other) in slabs.enumerated() {
                if !backwards, early <= late {
                    distance = max(distance, Int(slab.written_to) * written - Int(other.read_from) * read)
                } else if backwards, late <= early {
                    distance = max(distance, Int(other.read_to) * read - Int(slab.written_from) * written)
                }
            }
        }
        distance = (distance + 15) / 16 * 16
        let count = distance + max(sourceCount, residual.count)
        let memory = UnsafeMutablePointer<Float>.allocate(capacity: count)
        defer { memory.deallocate() }
        memory.initialize(repeating: .nan, count: count)
        let (output, source) = backwards ? (memory + distance, memory) : (memory, memory + distance)
        var scratch = [UInt8](repeating: 0xff, count: nk_conv_scratch_bytes(plan))
        withSources(asHalves: false) { structs in
            var structs = structs
            source.update(from: structs[0].data.assumingMemoryBound(to: Float.self), count: sourceCount)
            structs[0].data = UnsafeRawPointer(source)
            structs.withUnsafeBufferPointer { structs in
                residual.withUnsafeBufferPointer { residual in
                    var run = nk_conv_run(
                        sources: structs.baseAddress!,
                        source_count: Int32(structs.count),
                        residual: residual.baseAddress,
                        out: output,
                        out_bfloat16: 0,
                        out_slope: slope,
                        stats: nil
                    )
                    for slab in backwards ? slabs.reversed() : slabs {
                        // The last chunk of a slab first: which of them runs first is of no consequence.
                        for chunk in (slab.first_chunk..<(slab.first_chunk + slab.chunk_count)).reversed() {
                            nk_conv_run_chunk(plan, &run, chunk, &scratch)
                        }
                    }
                }
            }
        }
        return Array(UnsafeBufferPointer(start: output, count: residual.count))
    }
}
