internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// A function along the middle axis of `[outer][n][inner]`.
struct RowsStep: Step {
    enum Function: Sendable {
        case reduce(Int32)
        case softmax(logarithm: Bool)
        /// With n as the innermost axis.
        case normalise(Operation.LayerNormalisation)
        case argument(Operation.Extreme)
        case topK(Operation.TopK)
        case runningSum(Operation.RunningSum)
    }

    let function: Function
    let rows: Lowering.Rows
    let target: Int

    var reads: [Int] { [rows.stored.buffer] }
    var writes: [Int] { [target] }
    var work: StepWork {
        let positions = rows.positions
        let written =
            switch function {
            case .reduce, .argument: positions
            case .topK(let parameters): positions * parameters.count
            case .softmax, .normalise, .runningSum: positions * rows.n
            }
        return .traffic(kind, elements: positions * rows.n + written)
    }
    private var kind: StepKind {
        if case .normalise = function { return .normalisation }
        return .reduction
    }
    var scratchBytes: Int {
        if case .topK = function { return (8 * rows.n + 63) / 64 * 64 }
        return 0
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let from = ParallelBuffer(run.floats(rows.stored.buffer))
        let to = ParallelBuffer(run.floats(target))
        let (n, inner) = (rows.n, rows.inner)
        try run.forEachPart(of: rows.positions, cost: 4 * n) { begin, end in
            var rows = nk_axis_rows(in: from.base, n: n, inner: inner, begin: begin, end: end)
            switch function {
            case .reduce(let kind): nk_reduce(kind, &rows, to.base)
            case .softmax(let logarithm): nk_softmax(&rows, logarithm ? 1 : 0, to.base)
            case .normalise(let p):
                // Rows of which n is not the innermost axis have one element.
                nk_normalise_rows(&rows, p.scale, p.shift, p.epsilon, to.base)
            case .argument(let p):
                nk_arg_extreme(p.smallest ? 1 : 0, p.last ? 1 : 0, &rows, to.base)
            case .topK(let p):
                run.scratch.withSlot { scratch in
                    let (values, indices) = p.indices ? (nil, to.base) : (to.base, nil)
                    nk_top_k(p.smallest ? 1 : 0, &rows, p.count, values, indices, scratch)
                }
            case .runningSum(let p):
                nk_running_sum(p.exclusive ? 1 : 0, p.reversed ? 1 : 0, &rows, to.base)
            }
        }
    }
}
