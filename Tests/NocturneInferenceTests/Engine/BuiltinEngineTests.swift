import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The builtin engine")
struct BuiltinEngineTests {
    @Test("has all its fixtures")
    func fixtures() { #expect(ONNXFixtures.names.count > 280) }

    @Test("agrees with ONNX Runtime", arguments: ONNXFixtures.names)
    func agreement(name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        let session = try fixture.load().makeSession(inputShapes: fixture.shapes, width: 1)
        let results = try session.run(fixture.tensors, scope: .serial())
        for output in fixture.outputs {
            let expected = ONNXFixtures.tensor(output)
            let found = try #require(results[output.name])
            #expect(found.shape == expected.shape)
            let scale = max(expected.values.map(abs).max() ?? 0, 1e-6)
            let difference = zip(found.values, expected.values).map { abs($0 - $1) }.max() ?? 0
            // The promise is 1e-4 of the output's scale; what is seen is a hundredth of it.
            #expect(difference / scale < 1e-5, "\(output.name) differs by \(difference) at a scale of \(scale)")
        }
    }

    static let networks = [
        "unet2d-plain", "unet3d-plain", "unet3d-plain-two-channels", "unet2d-residual", "unet3d-residual",
        "unet2d-batchnorm-resize", "unet2d-groupnorm", "classifier-efficient", "attention-long", "attention-windows",
        "linear-residual", "layernorm-axes", "scatternd-add", "topk",
    ]

    @Test("gives the same bits for any number of threads, and again from a used session", arguments: networks)
    func determinism(name: String) async throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try fixture.load()
        let session = try network.makeSession(inputShapes: fixture.shapes, width: 1)
        let reference = try session.run(fixture.tensors, scope: .serial())
        #expect(try session.run(fixture.tensors, scope: .serial()) == reference)
        let (tensors, shapes) = (fixture.tensors, fixture.shapes)
        let results = try await resultsForWidths { scope in
            try network.makeSession(inputShapes: shapes, width: scope.width).run(tensors, scope: scope)
        }
        #expect(results.allSatisfy { $0 == reference })
    }

    @Test("takes more threads than a session was made for")
    func growingWidth() async throws {
        let fixture = try ONNXFixtures.named("unet3d-plain")
        let network = try fixture.load()
        let (tensors, shapes) = (fixture.tensors, fixture.shapes)
        let results = try await resultsForWidths([3]) { scope in
            try network.makeSession(inputShapes: shapes, width: 1).run(tensors, scope: scope)
        }
        let serial = try network.makeSession(inputShapes: shapes, width: 1).run(tensors, scope: .serial())
        #expect(results == [serial])
    }

    @Test("writes a volume's output straight into the caller's buffer")
    func buffers() throws {
        let fixture = try ONNXFixtures.named("unet3d-plain-two-channels")
        let session = try fixture.load().makeSession(inputShape: fixture.inputs[0].shape, width: 1)
        let named = try session.run(fixture.tensors, scope: .serial())
        let input = ONNXFixtures.tensor(fixture.inputs[0]).values
        var output = [Float](repeating: .nan, count: fixture.outputs[0].shape.reduce(1, *))
        try input.withUnsafeBufferPointer { input in
            try output.withUnsafeMutableBufferPointer { output in
                try session.run(input: input, output: output, scope: .serial())
            }
        }
        #expect(output == named["y"]?.values)
        let tooShort = UnsafeBufferPointer(rebasing: input.withUnsafeBufferPointer { $0 }[..<0])
        #expect(throws: ModelFormatError.self) {
            try output.withUnsafeMutableBufferPointer { output in
                try session.run(input: tooShort, output: output, scope: .serial())
            }
        }
    }

    @Test("stops between layers when the flag is raised, and the session can be used again")
    func cancellation() throws {
        let fixture = try ONNXFixtures.named("unet2d-plain")
        let session = try fixture.load().makeSession(inputShapes: fixture.shapes, width: 1)
        let expected = try session.run(fixture.tensors, scope: .serial())
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) { try session.run(fixture.tensors, scope: .serial(flag)) }
        #expect(try session.run(fixture.tensors, scope: .serial()) == expected)
    }

    @Test("predicts the bytes a session maps", arguments: networks)
    func workspace(name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try fixture.load()
        for width in [1, 4] {
            let predicted = try network.workspaceBytes(inputShapes: fixture.shapes, width: width)
            let session = try network.makeSession(inputShapes: fixture.shapes, width: width)
            // Each of the two mappings is rounded up to a page.
            #expect(abs(session.workspaceBytes - predicted) <= 2 * 4096)
        }
        #expect(network.weightBytes >= network.packedBytes)
        #expect(!network.instructionSet.isEmpty)
    }

    @Test("runs a network with open extents at several shapes, and needs more memory for larger ones")
    func openShapes() throws {
        let fixture = try ONNXFixtures.named("unet3d-open-shape")
        let network = try fixture.load()
        #expect(network.inputs == [TensorDescription(name: "x0", shape: [nil, 1, nil, nil, nil])])
        #expect(try network.outputShape(inputShape: [1, 1, 16, 8, 20]) == [1, 2, 16, 8, 20])
        let small = try network.workspaceBytes(inputShape: [1, 1, 16, 16, 16], width: 1)
        let large = try network.workspaceBytes(inputShape: [1, 1, 32, 32, 32], width: 1)
        #expect(large > small)
        // A batch is the same as its elements one by one.
        let one = ONNXFixtures.tensor(fixture.inputs[0])
        let two = Tensor(shape: [2] + one.shape.dropFirst(), values: one.values + one.values.map { -$0 })
        let batch = try network.makeSession(inputShape: two.shape, width: 1).run(["x0": two], scope: .serial())
        let single = try network.makeSession(inputShape: one.shape, width: 1).run(["x0": one], scope: .serial())
        let first = try #require(single["y"])
        #expect(Array(try #require(batch["y"]).values.prefix(first.values.count)) == first.values)
        #expect(throws: ModelFormatError.self) { try network.workspaceBytes(inputShape: [1, 3, 8, 8, 8], width: 1) }
        #expect(throws: ModelFormatError.self) { try network.workspaceBytes(inputShape: [1, 1, 8], width: 1) }
        // Skips of odd extents do not meet again: said, not crashed.
        #expect(throws: ModelFormatError.self) { try network.workspaceBytes(inputShape: [1, 1, 9, 8, 8], width: 1) }
        network.dropPlans()
        #expect(try network.workspaceBytes(inputShape: [1, 1, 16, 16, 16], width: 1) == small)
    }

    @Test("never stores a normalised or concatenated activation of a plain U-Net")
    func fusion() async throws {
        let timings = try await NetworkBenchmark(
            onnx: ONNXFixtures.path("unet3d-plain"),
            patch: [12, 16, 16],
            threads: 2,
            repeats: 2
        ).run()
        let passes = timings.steps.filter { step in
            ["normalise", "concatenation", "layout", "channel sums"].contains(step.title)
        }
        #expect(passes.isEmpty)
        #expect(timings.seconds.count == 2)
        #expect(timings.convolutionOperations > 0)
        #expect(timings.profile == nil)
    }

    @Test("profiles every step of a network, and adds up its kinds")
    func profile() async throws {
        var benchmark = NetworkBenchmark(
            onnx: ONNXFixtures.path("unet3d-plain"),
            patch: [12, 16, 16],
            threads: 2,
            repeats: 1
        )
        benchmark.profiles = true
        let timings = try await benchmark.run()
        let profile = try #require(timings.profile)
        #expect(profile.steps.map(\.title) == timings.steps.map(\.title))
        #expect(profile.steps.map(\.figures.seconds) == timings.steps.map(\.seconds))
        #expect(profile.steps.allSatisfy { $0.figures.bytes > 0 })
        #expect(profile.kinds.reduce(0) { $0 + $1.steps } == timings.steps.count)
        #expect(profile.kinds.contains { $0.kind == .transposedConvolution })
        #expect(profile.total.effectiveOperations == timings.convolutionOperations)
        #expect(profile.steps.allSatisfy { ($0.method != nil) == $0.kind.isConvolution })
        #expect(profile.steps.allSatisfy { ($0.figures.arithmeticShare != nil) == $0.kind.isConvolution })
        #expect(abs(profile.steps.reduce(0) { $0 + $1.figures.timeShare } - 1) < 1e-9)
    }
}
