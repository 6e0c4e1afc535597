import NocturneConcurrency
import NocturneInference
import Synchronization

/// The builtin engine, which counts how often its networks run.
final class CountingEngine: InferenceEngine {
    private let base = BuiltinEngine()
    private let count = Mutex(0)
    private let onRun: @Sendable (Int) -> Void

    /// - Parameter onRun: gets the number of each run, from 1, before it.
    init(onRun: @escaping @Sendable (Int) -> Void = { _ in }) { self.onRun = onRun }

    var runs: Int { count.withLock { $0 } }
    var name: String { base.name }
    var precisions: [InferencePrecision] { base.precisions }

    func load(onnx path: String, precision: InferencePrecision) throws -> any LoadedNetwork {
        CountingNetwork(base: try base.load(onnx: path, precision: precision)) { [self] in
            let number = count.withLock { count in
                count += 1
                return count
            }
            onRun(number)
        }
    }
}

private struct CountingNetwork: LoadedNetwork {
    let base: any LoadedNetwork
    let note: @Sendable () -> Void

    var inputs: [TensorDescription] { base.inputs }
    var outputs: [TensorDescription] { base.outputs }
    var weightBytes: Int { base.weightBytes }
    var packedBytes: Int { base.packedBytes }
    var packedLimit: Int { base.packedLimit }
    var instructionSet: String { base.instructionSet }
    var sharesMemory: Bool { base.sharesMemory }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try base.workspaceBytes(inputShapes: inputShapes, width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        try base.outputShapes(inputShapes: inputShapes)
    }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        CountingSession(try base.makeSession(inputShapes: inputShapes, width: width, memory: memory), note)
    }

    func dropPlans() { base.dropPlans() }
}

private final class CountingSession: NetworkSession {
    private let base: any NetworkSession
    private let note: @Sendable () -> Void

    init(_ base: any NetworkSession, _ note: @escaping @Sendable () -> Void) {
        self.base = base
        self.note = note
    }

    var inputShapes: [String: [Int]] { base.inputShapes }
    var outputShapes: [String: [Int]] { base.outputShapes }
    var workspaceBytes: Int { base.workspaceBytes }

    func run(
        input: UnsafeBufferPointer<Float>,
        output: UnsafeMutableBufferPointer<Float>,
        scope: ComputeScope
    ) throws {
        note()
        try base.run(input: input, output: output, scope: scope)
    }

    func run(_ inputs: [String: Tensor], scope: ComputeScope) throws -> [String: Tensor] {
        note()
        return try base.run(inputs, scope: scope)
    }
}
