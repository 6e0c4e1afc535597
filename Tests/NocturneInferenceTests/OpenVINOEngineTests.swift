import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

/// OpenVINO, where it is installed.
enum InstalledOpenVINO {
    static let engine: OpenVINOEngine? = {
        do {
            return try OpenVINOEngine(environment: ProcessInfo.processInfo.environment)
        } catch {
            print("notice: what needs OpenVINO is skipped: \(error)")
            return nil
        }
    }()

    static var isThere: Bool { engine != nil }

    static func load(_ name: String, _ precision: InferencePrecision = .float32) throws -> any LoadedNetwork {
        try #require(engine).load(onnx: ONNXFixtures.path(name), precision: precision)
    }
}

@Suite("The openvino engine", .enabled(if: InstalledOpenVINO.isThere))
struct OpenVINOEngineTests {
    /// Fixtures with forms that OpenVINO calculates otherwise.
    static let refused = [
        "convtranspose1d-output-shape", "convtranspose2d-output-shape", "convtranspose3d-output-shape", "softmax-11",
        "identity",
        "dropout",
    ]
    static let networks = BuiltinEngineTests.networks

    private func largestDifference(_ one: Tensor, _ other: Tensor) -> Float {
        let scale = max(other.values.map(abs).max() ?? 0, 1e-6)
        return (zip(one.values, other.values).map { abs($0 - $1) }.max() ?? 0) / scale
    }

    @Test(
        "agrees with ONNX Runtime and the builtin engine",
        arguments: ONNXFixtures.names.filter { !refused.contains($0) }
    )
    func agreement(name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try InstalledOpenVINO.load(name)
        let builtin = try fixture.load()
        #expect(network.inputs == builtin.inputs)
        #expect(network.outputs.map(\.name) == builtin.outputs.map(\.name))
        let shapes = try network.outputShapes(inputShapes: fixture.shapes)
        #expect(try builtin.outputShapes(inputShapes: fixture.shapes) == shapes)
        let session = try network.makeSession(inputShapes: fixture.shapes, width: 1)
        let results = try session.run(fixture.tensors, scope: .serial())
        let own = try builtin.makeSession(inputShapes: fixture.shapes, width: 1).run(fixture.tensors, scope: .serial())
        for output in fixture.outputs {
            let found = try #require(results[output.name])
            #expect(found.shape == output.shape)
            #expect(largestDifference(found, ONNXFixtures.tensor(output)) < 1e-5)
            #expect(largestDifference(found, try #require(own[output.name])) < 1e-5)
        }
    }

    @Test("refuses forms that it calculates otherwise than ONNX, by name", arguments: refused)
    func differences(name: String) throws {
        let error = #expect(throws: OpenVINOError.self) { try InstalledOpenVINO.load(name) }
        let text = try #require(error?.description)
        #expect(text.contains(name + ".onnx"))
        #expect(["output_shape", "operator set 11", "an input unchanged"].contains { text.contains($0) })
    }

    @Test("gives the same bits again: from a used session, a new one, and the network read anew", arguments: networks)
    func repeatable(name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        for width in [1, 2] {
            let network = try InstalledOpenVINO.load(name)
            let session = try network.makeSession(inputShapes: fixture.shapes, width: width)
            let pool = try ComputePool(width: width)
            defer { pool.shutdown() }
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            let reference = try session.run(fixture.tensors, scope: scope)
            #expect(try session.run(fixture.tensors, scope: scope) == reference)
            let other = try network.makeSession(inputShapes: fixture.shapes, width: width)
            #expect(try other.run(fixture.tensors, scope: scope) == reference)
            let again = try InstalledOpenVINO.load(name).makeSession(inputShapes: fixture.shapes, width: width)
            #expect(try again.run(fixture.tensors, scope: scope) == reference)
        }
    }

    @Test(
        "follows the width of the scope; another number of threads changes the last bits at most",
        arguments: networks
    )
    func widths(name: String) async throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try InstalledOpenVINO.load(name)
        let reference = try network.makeSession(inputShapes: fixture.shapes, width: 1)
            .run(fixture.tensors, scope: .serial())
        let (tensors, shapes) = (fixture.tensors, fixture.shapes)
        let results = try await resultsForWidths { scope in
            // Made for one thread, and run with more.
            try network.makeSession(inputShapes: shapes, width: 1).run(tensors, scope: scope)
        }
        #expect(results[0] == reference)
        for result in results {
            for (output, tensor) in result {
                #expect(largestDifference(tensor, try #require(reference[output])) < 1e-5)
            }
        }
    }

    @Test("bfloat16 is coarser than float32, and near it", arguments: networks)
    func bfloat16(name: String) throws {
        let engine = try #require(InstalledOpenVINO.engine)
        let fixture = try ONNXFixtures.named(name)
        guard engine.precisions.contains(.bfloat16) else {
            print("notice: this processor has no products of bfloat16, which are skipped")
            #expect(throws: ModelFormatError.self) { try InstalledOpenVINO.load(name, .bfloat16) }
            return
        }
        func run(_ precision: InferencePrecision) throws -> [String: Tensor] {
            let network = try InstalledOpenVINO.load(name, precision)
            return try network.makeSession(inputShapes: fixture.shapes, width: 1).run(fixture.tensors, scope: .serial())
        }
        let (coarse, fine, exact) = (try run(.bfloat16), try run(.float32), try run(.exact))
        #expect(fine == exact)
        for (output, tensor) in coarse {
            let difference = largestDifference(tensor, try #require(fine[output]))
            #expect(difference > 1e-5 && difference < 0.1)
        }
    }

    @Test("writes a volume's output straight into the caller's buffer, and checks the sizes")
    func buffers() throws {
        let fixture = try ONNXFixtures.named("unet3d-plain-two-channels")
        let session = try InstalledOpenVINO.load(fixture.name)
            .makeSession(inputShape: fixture.inputs[0].shape, width: 1)
        let named = try session.run(fixture.tensors, scope: .serial())
        let input = ONNXFixtures.tensor(fixture.inputs[0]).values
        var output = [Float](repeating: .nan, count: fixture.outputs[0].shape.reduce(1, *))
        func run(_ input: [Float]) throws {
            try input.withUnsafeBufferPointer { input in
                try output.withUnsafeMutableBufferPointer { output in
                    try session.run(input: input, output: output, scope: .serial())
                }
            }
        }
        try run(input)
        #expect(output == named["y"]?.values)
        #expect(throws: ModelFormatError.self) { try run(Array(input.dropLast())) }
        #expect(throws: ModelFormatError.self) { try session.run([:], scope: .serial()) }
    }

    @Test("runs a network with open extents at several shapes, and refuses shapes that do not fit")
    func openShapes() throws {
        let network = try InstalledOpenVINO.load("unet3d-open-shape")
        #expect(network.inputs == [TensorDescription(name: "x0", shape: [nil, 1, nil, nil, nil])])
        #expect(try network.outputShape(inputShape: [1, 1, 16, 8, 20]) == [1, 2, 16, 8, 20])
        for shape in [[1, 3, 8, 8, 8], [1, 1, 8], [1, 1, 0, 8, 8], [1, 1, 9, 8, 8], [1, 1, 1 << 40, 1 << 40, 8]] {
            #expect(throws: ModelFormatError.self) { try network.workspaceBytes(inputShape: shape, width: 1) }
        }
        #expect(throws: ModelFormatError.self) { try network.outputShapes(inputShapes: ["z": [1]]) }
        #expect(throws: ModelFormatError.self) { try network.outputShapes(inputShapes: [:]) }
        let shape = [1, 1, 16, 16, 16]
        let bytes = try network.workspaceBytes(inputShape: shape, width: 1)
        #expect(bytes >= 3 * 16 * 16 * 16 * 4)
        #expect(try network.makeSession(inputShape: shape, width: 1).workspaceBytes == bytes)
        #expect(try network.workspaceBytes(inputShape: [1, 1, 96, 96, 96], width: 1) > 3 * 96 * 96 * 96 * 4)
        network.dropPlans()
        #expect(network.weightBytes > 0)
        #expect(network.instructionSet.hasPrefix("openvino 20"))
    }

    @Test("stops within a run when the flag is raised, and the session can be used again")
    func cancellation() async throws {
        let network = try InstalledOpenVINO.load("unet3d-open-shape")
        let shape = [1, 1, 128, 128, 128]
        let input = Tensor(shape: shape, values: EngineComparisonTests.patch(shape))
        let small = try ONNXFixtures.named("unet2d-plain")
        let other = try small.load()
        let (runner, canceller) = try (ComputePool(width: 1), ComputePool(width: 1))
        defer {
            runner.shutdown()
            canceller.shutdown()
        }
        let (flag, begins) = (CancellationFlag(), CancellationFlag())
        async let raised: Void = canceller.run {
            while !begins.isCancelled { sched_yield() }
            // The run has begun when this is done, and takes far longer.
            _ = try other.makeSession(inputShapes: small.shapes, width: 1).run(small.tensors, scope: .serial())
            flag.cancel()
        }
        let isSame = try await runner.run { () throws -> Bool in
            let session = try network.makeSession(inputShape: shape, width: 1)
            let fresh = ComputeScope(pool: runner, flag: CancellationFlag())
            let before = try session.run(["x0": input], scope: fresh)
            begins.cancel()
            for _ in 0..<2 {
                #expect(throws: CancelledError.self) {
                    while true { _ = try session.run(["x0": input], scope: ComputeScope(pool: runner, flag: flag)) }
                }
            }
            return try session.run(["x0": input], scope: fresh) == before
        }
        try await raised
        #expect(isSame)
    }

    @Test("damaged files are refused or run, and never stop the process", arguments: ["conv2d", "shape-arithmetic"])
    func damaged(name: String) throws {
        let engine = try #require(InstalledOpenVINO.engine)
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: ONNXFixtures.path(name))))
        var random = SplitMix64(seed: 11)
        try TemporaryFolder.with { folder in
            func use(_ bytes: [UInt8]) throws {
                let file = try folder.write(bytes, to: "damaged.onnx")
                let network = try engine.load(onnx: file.path, precision: .float32)
                _ = try network.outputShapes(inputShapes: [:])
            }
            for step in 0..<60 {
                var bytes = data
                if step % 2 == 0 {
                    bytes = Array(data.prefix(data.count * step / 60))
                } else {
                    for _ in 0..<4 { bytes[Int(random.next() % UInt64(data.count))] = UInt8(random.next() & 255) }
                }
                do { try use(bytes) } catch is ModelFormatError {} catch is OpenVINOError {}
            }
            #expect(throws: ModelFormatError.self) { try use([]) }
            #expect(throws: ModelFormatError.self) { try use(Array(data.prefix(data.count / 2))) }
            #expect(throws: ModelFormatError.self) { try engine.load(onnx: folder.path, precision: .float32) }
            #expect(throws: ModelFormatError.self) {
                try engine.load(onnx: folder("missing.onnx").path, precision: .float32)
            }
        }
    }
}
