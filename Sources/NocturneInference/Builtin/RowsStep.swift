internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// A function along the middle axis of `[outer][n][inner]`.
struct RowsStep: Step {
    let function: Operation.AxisFunction
    let rows: Lowering.Rows
    let target: Int

    var reads: [Int] { [rows.stored.buffer] }
    var writes: [Int] { [target] }
    var work: StepWork {
        let positions = rows.positions
        let written =
            switch function {
            case .reduce, .argument: positions
            case .topK(let count, _, _): positions * count
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
            case .normalise(let scale, let shift, let epsilon):
                // Rows of which n is not the innermost axis have one element.
                nk_normalise_rows(&rows, scale, shift, epsilon, to.base)
            case .argument(let smallest, let last):
                nk_arg_extreme(smallest ? 1 : 0, last ? 1 : 0, &rows, to.base)
            case .topK(let count, let smallest, let wantsIndices):
                run.scratch.withSlot { scratch in
                    let (values, indices) = wantsIndices ? (nil, to.base) : (to.base, nil)
                    nk_top_k(smallest ? 1 : 0, &rows, count, values, indices, scratch)
                }
            case .runningSum(let exclusive, let reversed):
                nk_running_sum(exclusive ? 1 : 0, reversed ? 1 : 0, &rows, to.base)
            }
        }
    }
}
