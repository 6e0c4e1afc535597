import Foundation
import NocturneConcurrency
import NocturneInference
import NocturneTestSupport
import Testing

@Suite("The steps of transformers")
struct TransformerStepsTests {
    private func stepCount(_ name: String) async throws -> Int {
        let fixture = try ONNXFixtures.named(name)
        let shape = fixture.inputs[0].shape
        // Only networks whose input is a batch of 1 with channels can be timed.
        let timings = try await NetworkBenchmark(
            onnx: ONNXFixtures.path(name),
            patch: Array(shape.dropFirst(2)),
            threads: 1,
            repeats: 1
        ).run()
        return timings.steps.count
    }

    @Test("a linear layer takes in its bias and factors, and GELU is one function")
    func fusion() async throws {
        // The layer and the output.
        #expect(try await stepCount("linear-scaled") == 2)
        #expect(try await stepCount("linear-long") == 2)
    }

    @Test("the scores of an attention are never stored, and transpositions move nothing")
    func attention() async throws {
        // Three parts of the input, the scaled query, attention, and the output.
        #expect(try await stepCount("attention-long") == 6)
        let fixture = try ONNXFixtures.named("attention-long")
        let workspace = try fixture.load().workspaceBytes(inputShapes: fixture.shapes, width: 1)
        #expect(workspace < 1100 * 1100 * 4)
    }

    /// ONNX Runtime 1.31 gives other values than the standard and its reference implementation here.
    @Test("weights are standardised by a batch normalisation of constants, as PyTorch exports it")
    func standardisedWeights() throws {
        typealias B = ONNXBytes
        func floats(_ values: [Float]) -> [UInt8] {
            values.flatMap { value in (0..<4).map { UInt8(truncatingIfNeeded: value.bitPattern >> ($0 * 8)) } }
        }
        let inputs = ["w", "scale", "shift", "mean", "mean"]
        let training = B.attribute("training_mode", int: 1)
        let data = B.model(
            nodes: [
                B.node("ReduceMean", ["w"], ["mean"]),
                B.node("BatchNormalization", inputs, ["b", "m", "v"], attributes: [training]),
                B.node("Add", ["x", "b"], ["y"]),
            ],
            tensors: [
                B.tensor("w", dims: [1, 2, 1, 2], raw: floats([1, 3, 5, 5])),
                B.tensor("scale", dims: [2], raw: floats([2, 2])),
                B.tensor("shift", dims: [2], raw: floats([0, 7])),
            ],
            inputs: [B.value("x", dims: [1, 2, 1, 2])],
            outputs: [B.value("y", dims: [1, 2, 1, 2])]
        )
        let values = try TemporaryFolder.with { folder in
            let file = try folder.write([UInt8](data), to: "weights.onnx")
            let session = try BuiltinEngine().load(onnx: file.path, precision: .float32)
                .makeSession(inputShapes: [:], width: 1)
            let zeros = Tensor(shape: [1, 2, 1, 2], values: [0, 0, 0, 0])
            return try session.run(["x": zeros], scope: .serial())["y"]?.values
        }
        let expected: [Float] = [-2, 2, 7, 7]
        #expect(try #require(values).elementsEqual(expected) { abs($0 - $1) < 1e-4 })
    }
}
