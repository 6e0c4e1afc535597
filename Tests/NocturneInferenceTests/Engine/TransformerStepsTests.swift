import NocturneInference
import Testing

@Suite("The steps of transformers")
struct TransformerStepsTests {
    private func stepCount(_ name: String) async throws -> Int {
        let fixture = try ONNXFixtures.named(name)
        let shape = fixture.inputs[0].shape
        // Only networks whose input is a batch of 1 with channels can be timed.
        let timings = try await NetworkBenchmark.run(
            onnx: ONNXFixtures.path(name),
            patch: Array(shape.dropFirst(2)),
            threads: 1,
            repeats: 1
        )
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
}
