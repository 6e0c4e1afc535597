import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The choice of an engine")
struct EngineChoiceTests {
    typealias B = ONNXBytes

    private static let nowhere = ["NOCTURNE_ONNXRUNTIME": "/nowhere/onnxruntime"]

    /// y = sinh(x), which the builtin engine has not got.
    static func hyperbolicSine() -> Data {
        B.model(
            nodes: [B.node("Sinh", ["x"], ["y"])],
            inputs: [B.value("x", dims: [1, 2, 3, 4])],
            outputs: [B.value("y", dims: [1, 2, 3, 4])]
        )
    }

    @Test("auto is builtin for what it has, wherever ONNX Runtime is")
    func builtin() throws {
        let paths = ["unet3d-plain", "conv2d"].map(ONNXFixtures.path)
        func chosen(_ name: String, _ paths: [String]) throws -> String {
            try InferenceEngines.all.engine(named: name, for: paths, environment: Self.nowhere).name
        }
        #expect(try chosen("auto", paths) == "builtin")
        #expect(try chosen("builtin", paths) == "builtin")
        let error = #expect(throws: EngineError.self) { try chosen("onnxruntime", paths) }
        #expect(error?.faultCode == FaultCode("engine", "onnxruntime") && error?.code == .unusableLibrary)
        #expect(throws: ModelFormatError.self) { try chosen("auto", ["/nowhere.onnx"]) }
    }

    @Test("without ONNX Runtime, auto names the operators and the engine to get")
    func lacking() throws {
        try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](Self.hyperbolicSine()), to: "sinh.onnx")
            let error = #expect(throws: EngineChoiceError.self) {
                try InferenceEngines.all.engine(
                    named: "auto",
                    for: [ONNXFixtures.path("relu"), file.path],
                    environment: Self.nowhere
                )
            }
            let text = try #require(error?.description)
            for word in [file.path, "Sinh", "onnxruntime", "/nowhere/onnxruntime"] {
                #expect(text.contains(word))
            }
        }
    }

    @Test("weights in other files are refused, whichever engine is installed")
    func externalWeights() throws {
        let data = B.model(
            nodes: [B.node("Sinh", ["w"], ["s"]), B.node("Add", ["x", "s"], ["y"])],
            tensors: [B.tensor("w", dims: [4], raw: [], external: true)],
            inputs: [B.value("x", dims: [1, 2, 3, 4])],
            outputs: [B.value("y", dims: [1, 2, 3, 4])]
        )
        try TemporaryFolder.with { folder in
            let path = try folder.write([UInt8](data), to: "two-files.onnx").path
            for environment in [Self.nowhere, InstalledEngine.environment] {
                #expect(throws: ModelFormatError.externalData(path: path, tensor: "w")) {
                    try InferenceEngines.all.engine(named: "auto", for: [path], environment: environment)
                }
            }
            for installed in InstalledEngine.all {
                #expect(throws: ModelFormatError.externalData(path: path, tensor: "w")) {
                    try installed.engine.load(onnx: path, precision: .float32)
                }
            }
        }
    }

    @Test("auto takes what is installed for what builtin has not got", arguments: InstalledEngine.all)
    func other(installed: InstalledEngine) throws {
        let environment = InstalledEngine.environment
        try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](Self.hyperbolicSine()), to: "sinh.onnx")
            let engine = try InferenceEngines.all.engine(named: "auto", for: [file.path], environment: environment)
            #expect(engine.name == installed.engine.name)
            let session = try engine.load(onnx: file.path, precision: .float32).makeSession(inputShapes: [:], width: 1)
            let x = Tensor(shape: [1, 2, 3, 4], values: (0..<24).map { Float($0) / 5 - 2 })
            let y = try #require(try session.run(["x": x], scope: .serial())["y"])
            #expect(zip(x.values, y.values).allSatisfy { abs(sinh($0) - $1) < 1e-5 })
        }
    }
}

@Suite("The comparison of engines")
struct EngineComparisonTests {
    /// Values between -1 and 1.
    static func patch(_ shape: [Int]) -> [Float] {
        var random = SplitMix64(seed: 3)
        return (0..<shape.reduce(1, *)).map { _ in Float(random.next() >> 40) / 8_388_608 - 1 }
    }

    @Test("takes builtin exact as the reference, and says what is not there")
    func notInstalled() throws {
        let report = try EngineComparison.run(
            onnx: ONNXFixtures.path("unet3d-open-shape"),
            shape: [1, 1, 16, 16, 16],
            repeats: 1,
            environment: ["NOCTURNE_ONNXRUNTIME": "/nowhere"],
            scope: .serial()
        )
        let first = try #require(report.rows.first)
        #expect(first.engine == "builtin" && first.precision == .exact)
        #expect(first.maximumRelativeDifference == 0 && first.rmsRelativeDifference == 0)
        #expect(first.agreementPercent == 100 && first.speedRatio == 1)
        #expect(report.absent.contains { $0.engine == "onnxruntime" && $0.reason.contains("/nowhere") })
        #expect(report.rows.allSatisfy { $0.secondsPerPatch > 0 && $0.engine == "builtin" })
    }

    @Test("compares with what another library has computed from the same patch, where the package records it")
    func recorded() throws {
        // As NumPy computes them: Tools/lib/nocturne_tools/recorded_output.py.
        #expect(EngineComparison.smoothPatch([1, 2, 5, 6, 9]).prefix(3) == [-0.059632182, 0.5433444, 0.78282714])
        try TemporaryFolder.with { folder in
            let network = folder("network.onnx")
            try FileManager.default.copyItem(atPath: ONNXFixtures.path("unet3d-open-shape"), toPath: network.path)
            let shape = [1, 1, 8, 8, 16]
            let session = try BuiltinEngine().load(onnx: network.path, precision: .exact).makeSession(
                inputShapes: ["x0": shape],
                width: 1
            )
            let input = Tensor(shape: shape, values: EngineComparison.smoothPatch(shape))
            let output = try #require(try session.run(["x0": input], scope: .serial()).values.first).values
            func report(_ record: String) throws -> EngineComparison.Report {
                try folder.write(record, to: "network.check.json")
                return try EngineComparison.run(
                    onnx: network.path,
                    shape: [1, 1, 16, 16, 16],
                    repeats: 1,
                    environment: ["NOCTURNE_ONNXRUNTIME": "/nowhere"],
                    scope: .serial()
                )
            }
            func record(_ scale: Float) -> String {
                let values = (0..<4).map { output[(2 * $0 + 1) * output.count / 8] * scale }
                return "{\"library\": \"PyTorch 2\", \"input\": \(shape), \"values\": \(values)}"
            }
            let same = try report(record(1))
            #expect(same.inputShape == shape && same.recordedLibrary == "PyTorch 2" && same.fault == nil)
            #expect(same.rows.first?.recordedRelativeDifference == 0)
            let other = try report(record(1.01))
            #expect(try #require(other.fault).contains("from what PyTorch 2 computed"))
            #expect(throws: ModelFormatError.self) { try report("{}") }
            #expect(throws: ModelFormatError.self) { try report(record(1).replacing("16]", with: "0]")) }
        }
    }

    @Test("ends with an error for a network that returns NaN or infinite values", arguments: [Float.nan, .infinity])
    func notFinite(weight: Float) throws {
        let raw = (0..<4).map { UInt8(truncatingIfNeeded: weight.bitPattern >> (8 * $0)) }
        let data = ONNXBytes.model(
            nodes: [ONNXBytes.node("Add", ["x", "w"], ["y"])],
            tensors: [ONNXBytes.tensor("w", dims: [1], raw: raw)],
            inputs: [ONNXBytes.value("x", dims: [1, 2, 4, 4])],
            outputs: [ONNXBytes.value("y", dims: [1, 2, 4, 4])]
        )
        try TemporaryFolder.with { folder in
            let path = try folder.write([UInt8](data), to: "overflow.onnx").path
            #expect(throws: ModelFormatError.notFinite(network: path)) {
                try EngineComparison.run(
                    onnx: path,
                    shape: [1, 2, 4, 4],
                    repeats: 1,
                    environment: InstalledEngine.environment,
                    scope: .serial()
                )
            }
        }
    }

    @Test("names all outputs, the first of which it compares")
    func outputs() throws {
        let report = try EngineComparison.run(
            onnx: ONNXFixtures.path("split"),
            shape: [2, 4, 3, 6],
            repeats: 1,
            environment: ["NOCTURNE_ONNXRUNTIME": "/nowhere"],
            scope: .serial()
        )
        #expect(report.outputs == ["y", "z"])
    }

    @Test("measures the installed engines against it")
    func installed() throws {
        let report = try EngineComparison.run(
            onnx: ONNXFixtures.path("unet3d-open-shape"),
            shape: [1, 1, 32, 32, 32],
            repeats: 1,
            environment: InstalledEngine.environment,
            scope: .serial()
        )
        for engine in InstalledEngine.all.map(\.engine) {
            let row = try #require(report.rows.first { $0.engine == engine.name && $0.precision == .float32 })
            #expect(row.rmsRelativeDifference > 0 && row.rmsRelativeDifference < 1e-5)
            #expect(row.agreementPercent > 99.9)
            let coarse = report.rows.first { $0.engine == engine.name && $0.precision == .bfloat16 }
            #expect((coarse != nil) == engine.precisions.contains(.bfloat16))
            if let coarse {
                #expect(coarse.rmsRelativeDifference > row.rmsRelativeDifference)
                #expect(coarse.rmsRelativeDifference < 0.05)
            }
        }
    }
}
