internal import NocturneSystem
internal import Synchronization

/// A network of the builtin engine. One plan is made per shape and shared by its sessions.
///
/// The weights as read are freed once they are packed for a plan, and read again for another one. They are kept where that would
/// happen often: by networks whose file leaves extents open, and where packed weights do not fit in memory together.
final class BuiltinNetwork: LoadedNetwork {
    let inputs: [TensorDescription]
    let outputs: [TensorDescription]
    private let path: String
    /// The state of the file before it was read.
    private let file: FileState?
    /// Bytes of the weights as read.
    private let constantBytes: Int
    let arithmetic: ConvolutionArithmetic
    /// Each holds a packed copy of the weights.
    private let plans = PlanCache<ExecutionPlan>()
    /// Of the plans when the last one was used, and of the largest of them; nil before the first.
    private let packed = Mutex<(all: Int, largest: Int)?>(nil)
    /// Nil while it is not in memory.
    private let graph: Mutex<NetworkGraph?>
    private let hasOpenExtents: Bool
    let instructionSet: String
    private let weights: PackedWeights

    /// - Parameter file: its state before `graph` was read from it.
    init(
        _ graph: NetworkGraph,
        of file: FileState?,
        precision: InferencePrecision,
        limit: Int32,
        weights: PackedWeights
    ) {
        (inputs, outputs, path) = (graph.inputs, graph.outputs, graph.path)
        self.file = file
        self.weights = weights
        constantBytes = graph.constantBytes
        hasOpenExtents = inputs.contains { $0.shape.dropFirst().contains(nil) }
        self.graph = Mutex(graph)
        arithmetic = ConvolutionArithmetic(precision, limit: limit)
        instructionSet = arithmetic.instructionSet
    }

    /// The weights packed for the plans, even if they were dropped since, plus the weights as read where they are kept; before
    /// the first plan, an estimate for one plan.
    var weightBytes: Int { (keepsGraph ? constantBytes : 0) + packedBytes }

    private var keepsGraph: Bool { hasOpenExtents || weights.isExceeded }

    var packedBytes: Int { packed.withLock { $0?.all } ?? constantBytes }

    var packedBytesOfPlan: Int { packed.withLock { $0?.largest } ?? constantBytes }

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
        let path = path
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
            let graph = try currentGraph()
            let plan = try ExecutionPlan(graph, inputShapes: shapes, arithmetic: arithmetic)
            let keepsGraph = keepsGraph
            self.graph.withLock { $0 = keepsGraph ? graph : nil }
            return plan
        }
        let bytes = kept.reduce(0) { $0 + $1.packedBytes }
        packed.withLock { $0 = (bytes, kept.map(\.packedBytes).max() ?? 0) }
        weights.used(self, bytes: bytes)
        return plan
    }

    /// The graph in memory, or read again.
    private func currentGraph() throws(ModelFormatError) -> NetworkGraph {
        if let graph = graph.withLock(\.self) { return graph }
        guard FileState(path: path) == file else {
            throw .unreadable(path: path, reason: "it has changed since it was loaded. Start the run again")
        }
        return try ONNXReader.read(path)
    }
}
