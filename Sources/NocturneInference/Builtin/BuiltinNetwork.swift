internal import NocturneCore
internal import Synchronization

/// A network of the builtin engine. One plan is made per shape and shared by its sessions.
final class BuiltinNetwork: LoadedNetwork {
    /// Each plan holds a packed copy of the weights, so only the most recent ones are kept.
    private static let rememberedPlans = 3

    private let graph: NetworkGraph
    let arithmetic: ConvolutionArithmetic
    private struct Plans {
        /// Oldest first.
        var kept: [(shapes: [String: [Int]], plan: ExecutionPlan)] = []
        /// Of the plans when the last one was made.
        var packedBytes: Int?
    }
    private let plans = Mutex(Plans())
    let instructionSet: String
    private let weights: PackedWeights

    init(_ graph: NetworkGraph, precision: InferencePrecision, limit: InstructionSetLimit, weights: PackedWeights) {
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

    var packedBytes: Int { plans.withLock { $0.packedBytes } ?? graph.constantBytes }

    var packedLimit: Int { weights.limit }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputShapes).workspaceBytes(width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        TensorBinding.shapes(try plan(inputShapes).outputs)
    }

    func threadScaling(inputShapes: [String: [Int]]) throws -> ThreadScaling? {
        ThreadScaling(try plan(inputShapes).steps.map(\.work))
    }

    var sharesMemory: Bool { true }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        try BuiltinSession(plan: try plan(inputShapes), width: width, path: graph.path, memory: memory)
    }

    func dropPlans() { plans.withLock { $0.kept = [] } }

    private func plan(_ shapes: [String: [Int]]) throws -> ExecutionPlan {
        // Computed under the lock, so that two callers do not pack the same weights.
        let (plan, bytes) = try plans.withLock { plans in
            if let known = plans.kept.first(where: { $0.shapes == shapes }) {
                return (known.plan, plans.packedBytes ?? 0)
            }
            let plan = try ExecutionPlan(graph, inputShapes: shapes, arithmetic: arithmetic)
            if plans.kept.count >= Self.rememberedPlans { plans.kept.removeFirst() }
            plans.kept.append((shapes, plan))
            let bytes = plans.kept.reduce(0) { $0 + $1.plan.packedBytes }
            plans.packedBytes = bytes
            return (plan, bytes)
        }
        weights.used(self, bytes: bytes)
        return plan
    }
}
