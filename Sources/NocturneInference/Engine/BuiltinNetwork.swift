internal import CNocturneKernels
internal import NocturneCore
internal import Synchronization

/// A network of the builtin engine. Plans are made once a shape and shared by its sessions.
final class BuiltinNetwork: LoadedNetwork {
    /// Each plan holds a packed copy of the weights, so only the last few are remembered.
    private static let rememberedPlans = 3

    private let graph: NetworkGraph
    /// Oldest first.
    private let plans = Mutex<[(shapes: [String: [Int]], plan: ExecutionPlan)]>([])
    let instructionSet: String

    init(_ graph: NetworkGraph) {
        self.graph = graph
        instructionSet = Self.chosenInstructionSet()
    }

    var inputs: [TensorDescription] { graph.inputs }
    var outputs: [TensorDescription] { graph.outputs }

    /// The weights as read, and packed for the plans there are; before there is one, as if there were.
    var weightBytes: Int {
        let constants = graph.constantBytes
        let packed = plans.withLock { $0.reduce(0) { $0 + $1.plan.packedBytes } }
        return constants + (packed > 0 ? packed : constants)
    }

    func workspaceBytes(inputShapes: [String: [Int]], width: Int) throws -> Int {
        try plan(inputShapes).workspaceBytes(width: width)
    }

    func outputShapes(inputShapes: [String: [Int]]) throws -> [String: [Int]] {
        Dictionary(try plan(inputShapes).outputs.map { ($0.name, $0.shape) }, uniquingKeysWith: { first, _ in first })
    }

    func makeSession(inputShapes: [String: [Int]], width: Int) throws -> any NetworkSession {
        try BuiltinSession(plan: try plan(inputShapes), width: width, path: graph.path)
    }

    func dropPlans() { plans.withLock { $0.removeAll() } }

    private func plan(_ shapes: [String: [Int]]) throws -> ExecutionPlan {
        // Made under the lock, so that two callers do not pack the same weights.
        try plans.withLock { plans in
            if let known = plans.first(where: { $0.shapes == shapes }) { return known.plan }
            let plan = try ExecutionPlan(graph, inputShapes: shapes)
            if plans.count >= Self.rememberedPlans { plans.removeFirst() }
            plans.append((shapes, plan))
            return plan
        }
    }

    /// Asked of the kernels with a convolution of one voxel, so that the answer is theirs.
    private static func chosenInstructionSet() -> String {
        var desc = nk_conv_desc(
            in_z: 1,
            in_y: 1,
            in_x: 1,
            out_z: 1,
            out_y: 1,
            out_x: 1,
            cin: 1,
            cout: 1,
            kz: 1,
            ky: 1,
            kx: 1,
            stride_z: 1,
            stride_y: 1,
            stride_x: 1,
            pad_z: 0,
            pad_y: 0,
            pad_x: 0,
            dilation_z: 1,
            dilation_y: 1,
            dilation_x: 1,
            groups: 1,
            transposed: 0,
            isa: Int32(NK_CONV_ISA_AUTO)
        )
        guard let plan = nk_conv_plan_create(&desc, [1], nil) else { return "baseline" }
        defer { nk_conv_plan_destroy(plan) }
        switch Int(nk_conv_plan_isa(plan)) {
        case NK_CONV_ISA_AVX512: return "avx512"
        case NK_CONV_ISA_AVX2: return "avx2"
        default: return "baseline"
        }
    }
}
