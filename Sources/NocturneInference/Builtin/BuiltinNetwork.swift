internal import Synchronization

/// A network of the builtin engine. One plan is made per shape and shared by its sessions.
final class BuiltinNetwork: LoadedNetwork {
    private let graph: NetworkGraph
    let arithmetic: ConvolutionArithmetic
    /// Each holds a packed copy of the weights.
    private let plans = PlanCache<ExecutionPlan>()
    /// Of the plans when the last one was used, and of the largest of them; nil before the first.
    private let packed = Mutex<(all: Int, largest: Int)?>(nil)
    let instructionSet: String
    private let weights: PackedWeights

    init(_ graph: NetworkGraph, precision: InferencePrecision, limit: Int32, weights: PackedWeights) {
        self.graph = graph
        self.weights = weights
        arithmetic = ConvolutionArithmetic(precision, limit: limit)
        instructionSet = arithmetic.instructionSet
    }

    var inputs: [TensorDescription] { graph.inputs }
    var outputs: [TensorDescription] { graph.outputs }

    /// The weights as read, plus the weights packed for the plans, even if they were dropped since; before the first plan,
    /// an estimate for one plan.
    var weightBytes: Int { graph.constantBytes + packedBytes }

    var packedBytes: Int { packed.withLock { $0?.all } ?? graph.constantBytes }

    var packedBytesOfPlan: Int { packed.withLock { $0?.largest } ?? graph.constantBytes }

    var packedLimit: Int { weights.limit }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputShapes).workspaceBytes(width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        NetworkSession.shapes(try plan(inputShapes).outputs)
    }

    func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling? {
        ThreadScaling(try plan(inputShapes).steps.map(\.work))
    }

    var sharesMemory: Bool { true }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> NetworkSession {
        let plan = try plan(inputShapes)
        let path = graph.path
        return try NetworkSession(network: path, inputs: plan.inputs, outputs: plan.outputs, width: width) {
            try BuiltinRunner(plan: plan, width: $0, path: path, memory: memory)
        }
    }

    func dropPlans() {
        plans.removeAll()
        weights.dropped(self)
    }

    private func plan(_ shapes: [String: [Int]]) throws -> ExecutionPlan {
        // A plan serves any number of threads.
        let (plan, kept) = try plans.plan(shapes, width: 0) {
            try ExecutionPlan(graph, inputShapes: shapes, arithmetic: arithmetic)
        }
        let bytes = kept.reduce(0) { $0 + $1.packedBytes }
        packed.withLock { $0 = (bytes, kept.map(\.packedBytes).max() ?? 0) }
        weights.used(self, bytes: bytes)
        return plan
    }
}
