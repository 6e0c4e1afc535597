internal import NocturneCore
internal import Synchronization

/// A network of the builtin engine. One plan is made per shape and shared by its sessions.
final class BuiltinNetwork: LoadedNetwork {
    /// Each plan holds a packed copy of the weights, so only the most recent ones are kept.
    private static let rememberedPlans = 3

    private let graph: NetworkGraph
    let arithmetic: ConvolutionArithmetic
    /// Oldest first.
    private let plans = Mutex<[(shapes: [String: [Int]], plan: ExecutionPlan)]>([])
    let instructionSet: String

    init(_ graph: NetworkGraph, precision: InferencePrecision, limit: InstructionSetLimit) {
        self.graph = graph
        arithmetic = ConvolutionArithmetic(precision, limit: limit)
        instructionSet = arithmetic.instructionSet
    }

    var inputs: [TensorDescription] { graph.inputs }
    var outputs: [TensorDescription] { graph.outputs }

    /// The weights as read, plus the weights packed for the existing plans; before the first plan, an estimate for one
    /// plan.
    var weightBytes: Int {
        let constants = graph.constantBytes
        let packed = plans.withLock { $0.reduce(0) { $0 + $1.plan.packedBytes } }
        return constants + (packed > 0 ? packed : constants)
    }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputShapes).workspaceBytes(width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        TensorBinding.shapes(try plan(inputShapes).outputs)
    }

    var sharesMemory: Bool { true }

    func makeSession(inputShapes: [String: [Int]], width: Int, memory: SessionMemory) throws -> any NetworkSession {
        try BuiltinSession(plan: try plan(inputShapes), width: width, path: graph.path, memory: memory)
    }

    func dropPlans() { plans.withLock { $0.removeAll() } }

    private func plan(_ shapes: [String: [Int]]) throws -> ExecutionPlan {
        // Computed under the lock, so that two callers do not pack the same weights.
        try plans.withLock { plans in
            if let known = plans.first(where: { $0.shapes == shapes }) { return known.plan }
            let plan = try ExecutionPlan(graph, inputShapes: shapes, arithmetic: arithmetic)
            if plans.count >= Self.rememberedPlans { plans.removeFirst() }
            plans.append((shapes, plan))
            return plan
        }
    }
}
