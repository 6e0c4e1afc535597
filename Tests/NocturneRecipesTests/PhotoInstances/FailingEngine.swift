import NocturneConcurrency
import NocturneInference

/// The builtin engine, whose networks fail: they return no numbers, or do not run.
struct FailingEngine: InferenceEngine {
    enum Failure: Sendable, CaseIterable {
        case notANumber
        case doesNotRun
        /// The outputs have other names than the package's.
        case otherOutput
    }

    let failure: Failure
    private let base = BuiltinEngine()

    init(_ failure: Failure) { self.failure = failure }

    var name: String { base.name }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        FailingNetwork(base: try base.load(onnx: path, precision: precision), failure: failure)
    }
}

private struct FailingNetwork: LoadedNetwork {
    let base: any LoadedNetwork
    let failure: FailingEngine.Failure

    var inputs: [TensorDescription] { base.inputs }
    var outputs: [TensorDescription] { base.outputs }
    var weightBytes: Int { base.weightBytes }
    var instructionSet: String { base.instructionSet }
    var sharesMemory: Bool { base.sharesMemory }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try base.workspaceBytes(inputShapes: inputShapes, width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        try base.outputShapes(inputShapes: inputShapes)
    }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        FailingSession(try base.makeSession(inputShapes: inputShapes, width: width, memory: memory), failure)
    }

    func dropPlans() { base.dropPlans() }
}

private final class FailingSession: NetworkSession {
    private let base: any NetworkSession
    private let failure: FailingEngine.Failure

    init(_ base: any NetworkSession, _ failure: FailingEngine.Failure) {
        self.base = base
        self.failure = failure
    }

    var inputShapes: [String: [Int]] { base.inputShapes }
    var outputShapes: [String: [Int]] { base.outputShapes }
    var workspaceBytes: Int { base.workspaceBytes }

    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        if failure == .doesNotRun {
            throw ModelFormatError.shapeMismatch(network: "network.onnx", reason: "for a test")
        }
        try base.run(input: input, output: output, scope: scope)
        if failure == .notANumber { output.update(repeating: .nan) }
    }

    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        let outputs = try base.run(inputs, scope: scope)
        switch failure {
        case .notANumber:
            return outputs.mapValues { Tensor(shape: $0.shape, values: $0.values.map { _ in .nan }) }
        case .doesNotRun: throw ModelFormatError.shapeMismatch(network: "network.onnx", reason: "for a test")
        case .otherOutput:
            return Dictionary(uniqueKeysWithValues: outputs.map { ("other \($0.key)", $0.value) })
        }
    }
}
