import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

/// An engine whose library is installed here, on the processor.
struct InstalledEngine: Sendable, CustomTestStringConvertible {
    static let environment = ProcessInfo.processInfo.environment.merging(["NOCTURNE_DEVICE": "cpu"]) { $1 }

    static let all: [InstalledEngine] = InferenceEngines.all.kinds.filter(\.needsInstallation).compactMap { kind in
        do {
            return InstalledEngine(engine: try kind.make(environment))
        } catch {
            print("notice: what needs \(kind.title) is skipped: \(error)")
            return nil
        }
    }

    static func named(_ name: String) -> InstalledEngine? { all.first { $0.engine.name == name } }

    let engine: any InferenceEngine

    var testDescription: String { engine.name }

    func load(_ name: String, _ precision: InferencePrecision = .float32) throws -> any LoadedNetwork {
        try engine.load(onnx: ONNXFixtures.path(name), precision: precision)
    }
}

@Suite("Engines whose library is installed", .enabled(if: !InstalledEngine.all.isEmpty))
struct InstalledEngineTests {
    static let networks = BuiltinEngineTests.networks

    private func largestDifference(_ one: Tensor, _ other: Tensor) -> Float {
        let scale = max(other.values.map(abs).max() ?? 0, 1e-6)
        return (zip(one.values, other.values).map { abs($0 - $1) }.max() ?? 0) / scale
    }

    @Test("agree with the expected outputs and the builtin engine", arguments: InstalledEngine.all, ONNXFixtures.names)
    func agreement(engine: InstalledEngine, name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try engine.load(name)
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

    @Test(
        "give the same bits again: from a used session, a new one, and the network read again",
        arguments: InstalledEngine.all,
        networks
    )
    func repeatable(engine: InstalledEngine, name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        for width in [1, 2] {
            let network = try engine.load(name)
            let session = try network.makeSession(inputShapes: fixture.shapes, width: width)
            let pool = try ComputePool(width: width)
            defer { pool.shutdown() }
            let scope = ComputeScope(pool: pool, flag: CancellationFlag())
            let reference = try session.run(fixture.tensors, scope: scope)
            #expect(try session.run(fixture.tensors, scope: scope) == reference)
            let other = try network.makeSession(inputShapes: fixture.shapes, width: width)
            #expect(try other.run(fixture.tensors, scope: scope) == reference)
            let again = try engine.load(name).makeSession(inputShapes: fixture.shapes, width: width)
            #expect(try again.run(fixture.tensors, scope: scope) == reference)
        }
    }

    @Test(
        "follow the width of the scope; another number of threads changes the last bits at most",
        arguments: InstalledEngine.all,
        networks
    )
    func widths(engine: InstalledEngine, name: String) async throws {
        let fixture = try ONNXFixtures.named(name)
        let network = try engine.load(name)
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

    @Test(
        "bfloat16 is coarser than float32, and near it, or refused",
        arguments: InstalledEngine.all,
        networks
    )
    func bfloat16(engine: InstalledEngine, name: String) throws {
        let fixture = try ONNXFixtures.named(name)
        guard engine.engine.precisions.contains(.bfloat16) else {
            #expect(throws: ModelFormatError.self) { try engine.load(name, .bfloat16) }
            return
        }
        func run(_ precision: InferencePrecision) throws -> [String: Tensor] {
            let network = try engine.load(name, precision)
            return try network.makeSession(inputShapes: fixture.shapes, width: 1).run(fixture.tensors, scope: .serial())
        }
        let (coarse, fine, exact) = (try run(.bfloat16), try run(.float32), try run(.exact))
        #expect(fine == exact)
        for (output, tensor) in coarse {
            let difference = largestDifference(tensor, try #require(fine[output]))
            #expect(difference > 1e-5 && difference < 0.1)
        }
    }

    @Test(
        "write a volume's output straight into the caller's buffer, and check the sizes",
        arguments: InstalledEngine.all
    )
    func buffers(engine: InstalledEngine) throws {
        let fixture = try ONNXFixtures.named("unet3d-plain-two-channels")
        let session = try engine.load(fixture.name).makeSession(inputShape: fixture.inputs[0].shape, width: 1)
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

    @Test("know the activation at the end of a network", arguments: InstalledEngine.all)
    func activation(engine: InstalledEngine) throws {
        #expect(try engine.load("unet2d-batchnorm-resize").outputs.map(\.activation) == [.softmax])
        #expect(try engine.load("unet2d-plain").outputs.map(\.activation) == [nil])
    }

    @Test(
        "run a network with open extents at several shapes, and refuse shapes that do not fit",
        arguments: InstalledEngine.all
    )
    func openShapes(engine: InstalledEngine) throws {
        let network = try engine.load("unet3d-open-shape")
        #expect(network.inputs == [TensorDescription(name: "x0", shape: [nil, 1, nil, nil, nil])])
        #expect(try network.outputShape(inputShape: [1, 1, 16, 8, 24]) == [1, 2, 16, 8, 24])
        for shape in [[1, 3, 8, 8, 8], [1, 1, 8], [1, 1, 0, 8, 8], [1, 1, 1 << 40, 1 << 40, 8]] {
            #expect(throws: ModelFormatError.self) { try network.workspaceBytes(inputShape: shape, width: 1) }
        }
        #expect(throws: (any Error).self) { try network.workspaceBytes(inputShape: [1, 1, 9, 8, 8], width: 1) }
        #expect(throws: ModelFormatError.self) { try network.outputShapes(inputShapes: ["z": [1]]) }
        #expect(throws: ModelFormatError.self) { try network.outputShapes(inputShapes: [:]) }
        let shape = [1, 1, 16, 16, 16]
        let bytes = try network.workspaceBytes(inputShape: shape, width: 1)
        #expect(bytes > 0)
        #expect(try network.makeSession(inputShape: shape, width: 1).workspaceBytes == bytes)
        #expect(try network.workspaceBytes(inputShape: [1, 1, 96, 96, 96], width: 1) >= 3 * 96 * 96 * 96 * 4)
        network.dropPlans()
        #expect(network.weightBytes > 0)
        #expect(network.instructionSet.hasPrefix("\(engine.engine.name) \(engine.engine.version ?? "?") "))
    }

    @Test(
        "stop within a run when the flag is raised, and the session can be used again",
        arguments: InstalledEngine.all
    )
    func cancellation(engine: InstalledEngine) async throws {
        let network = try engine.load("unet3d-open-shape")
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
            blockThread { begins.isCancelled }
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

    @Test(
        "damaged files are refused or run, and never stop the process",
        arguments: InstalledEngine.all,
        ["conv2d", "shape-arithmetic"]
    )
    func damaged(engine: InstalledEngine, name: String) throws {
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: ONNXFixtures.path(name))))
        var random = SplitMix64(seed: 11)
        try TemporaryFolder.with { folder in
            func load(_ path: String) throws -> any LoadedNetwork {
                try engine.engine.load(onnx: path, precision: .float32)
            }
            func use(_ bytes: [UInt8]) throws {
                _ = try load(folder.write(bytes, to: "damaged.onnx").path).outputShapes(inputShapes: [:])
            }
            for step in 0..<60 {
                var bytes = data
                if step % 2 == 0 {
                    bytes = Array(data.prefix(data.count * step / 60))
                } else {
                    for _ in 0..<4 { bytes[Int(random.next() % UInt64(data.count))] = UInt8(random.next() & 255) }
                }
                do { try use(bytes) } catch is ModelFormatError {} catch is EngineError {}
            }
            #expect(throws: ModelFormatError.self) { try use([]) }
            #expect(throws: ModelFormatError.self) { try use(Array(data.prefix(data.count / 2))) }
            #expect(throws: ModelFormatError.self) { try load(folder.path) }
            #expect(throws: ModelFormatError.self) { try load(folder("missing.onnx").path) }
        }
    }
}
