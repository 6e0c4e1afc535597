import NocturneConcurrency
import NocturneInference

/// An engine as a newcomer would add it: it runs networks with the builtin engine and negates their outputs.
struct NegatingEngine: InferenceEngine {
    static let kind = InferenceEngineKind(name: "negating", title: "Negated outputs", needsInstallation: false) { _ in
        NegatingEngine()
    }

    private let base = BuiltinEngine()

    var name: String { Self.kind.name }
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

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession {
        let session = try base.makeSession(inputShapes: inputShapes, width: width, memory: memory)
        return try NetworkSession(network: "", inputs: session.inputs, outputs: session.outputs, width: width) { _ in
            NegatingRunner(base: session)
        }
    }

    func dropPlans() { base.dropPlans() }
}

private final class NegatingRunner: NetworkRunner {
    private let base: NetworkSession

    init(base: NetworkSession) { self.base = base }

    var workspaceBytes: Int { base.workspaceBytes }

    func run(
        _ inputs: [UnsafeBufferPointer<Float>],
        _ outputs: [UnsafeMutableBufferPointer<Float>],
        scope: ComputeScope
    ) throws {
        try base.run(inputs, outputs, scope: scope)
        for output in outputs { for index in output.indices { output[index].negate() } }
    }
}
