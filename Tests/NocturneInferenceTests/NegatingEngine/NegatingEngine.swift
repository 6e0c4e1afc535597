import NocturneConcurrency
import NocturneInference

/// An engine as a newcomer would add it: it runs networks with the builtin engine and negates their outputs.
struct NegatingEngineKind: InferenceEngineKind {
    var name: String { "negating" }
    var title: String { "Negated outputs" }
    var needsInstallation: Bool { false }
    var memory: String { "as the builtin engine's" }

    func make(environment: [String: String]) -> any InferenceEngine { NegatingEngine(base: BuiltinEngine()) }
}

struct NegatingEngine: InferenceEngine {
    let base: BuiltinEngine

    var name: String { "negating" }
    var precisions: [InferencePrecision] { [.exact, .float32] }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        guard precisions.contains(precision) else {
            throw ModelFormatError.unsupportedPrecision(asked: precision, offered: precisions)
        }
        return NegatingNetwork(base: try base.load(onnx: path, precision: precision))
    }
}

private struct NegatingNetwork: LoadedNetwork {
    let base: any LoadedNetwork

    var inputs: [TensorDescription] { base.inputs }
    var outputs: [TensorDescription] { base.outputs }
    var weightBytes: Int { base.weightBytes }
    var instructionSet: String { "negated \(base.instructionSet)" }
    var sharesMemory: Bool { base.sharesMemory }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try base.workspaceBytes(inputShapes: inputShapes, width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        try base.outputShapes(inputShapes: inputShapes)
    }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        NegatingSession(base: try base.makeSession(inputShapes: inputShapes, width: width, memory: memory))
    }

    func dropPlans() { base.dropPlans() }
}

private final class NegatingSession: NetworkSession {
    private let base: any NetworkSession

    init(base: any NetworkSession) { self.base = base }

    var inputShapes: [String: [Int]] { base.inputShapes }
    var outputShapes: [String: [Int]] { base.outputShapes }
    var workspaceBytes: Int { base.workspaceBytes }

    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        try base.run(input: input, output: output, scope: scope)
        for index in output.indices { output[index].negate() }
    }

    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        try base.run(inputs, scope: scope).mapValues { Tensor(shape: $0.shape, values: $0.values.map { -$0 }) }
    }
}
