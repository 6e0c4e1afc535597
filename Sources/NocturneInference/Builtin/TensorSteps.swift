internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// A function of each element.
struct UnaryStep: Step {
    let function: Operation.Unary
    let source: Int
    let target: Int
    let count: Int

    var reads: [Int] { [source] }
    var writes: [Int] { [target] }
    var work: StepWork { .traffic(.elementwise, elements: 2 * count) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let from = ParallelBuffer(run.floats(source))
        let to = ParallelBuffer(run.floats(target))
        try run.forEachPart(of: count, cost: 4) { begin, end in
            nk_unary(function.kind, from.base + begin, to.base + begin, end - begin, function.first, function.second)
        }
    }
}

/// A function of two elements, with broadcasting.
struct BinaryStep: Step {
    let kind: Int32
    let buffers: [Int]
    let target: Int
    let dims: [Int]
    let strides: [[Int]]

    init(
        _ kind: Int32,
        operands: [(stored: Lowering.Stored, shape: [Int])],
        target: Lowering.Stored,
        shape: [Int]
    ) {
        self.kind = kind
        buffers = operands.map(\.stored.buffer)
        self.target = target.buffer
        let order = StridedLoop.order(shape, target.strides)
        var loop = StridedLoop(dims: order.map { shape[$0] })
        for operand in operands {
            let repeated = Extents.broadcastStrides(operand.shape, operand.stored.strides, to: shape)
            loop.strides.append(order.map { repeated[$0] })
        }
        loop.collapse()
        dims = loop.dims
        strides = loop.strides
    }

    var reads: [Int] { buffers }
    var writes: [Int] { [target] }
    var work: StepWork {
        let read = strides.reduce(0) { $0 + StepWork.elementsRead(dims: dims, strides: $1) }
        return .traffic(.elementwise, elements: read + dims.reduce(1, *))
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let a = ParallelBuffer(run.floats(buffers[0]))
        let b = ParallelBuffer(run.floats(buffers[1]))
        let to = ParallelBuffer(run.floats(target))
        try run.forEachPart(of: dims.reduce(1, *), cost: 2) { begin, end in
            nk_binary(kind, Int32(dims.count), dims, a.base, strides[0], b.base, strides[1], to.base, begin, end)
        }
    }
}

/// Axes in memory order, with the strides of several tensors over them.
struct StridedLoop {
    var dims: [Int]
    var strides: [[Int]] = []
    /// The axes that ``collapse(keep:)`` was asked to keep.
    private(set) var kept: [Bool] = []

    /// Axes ordered from the slowest to the fastest.
    static func order(_ shape: [Int], _ strides: [Int]) -> [Int] {
        shape.indices.sorted { (strides[$0], shape[$0], $1) > (strides[$1], shape[$1], $0) }
    }

    /// Removes axes of extent 1 and merges neighbours that are contiguous in every tensor. `keep` lists axes that stay
    /// unchanged.
    mutating func collapse(keep: Set<Int> = []) {
        var joined: [(dim: Int, strides: [Int], fixed: Bool)] = []
        for axis in dims.indices where dims[axis] != 1 || keep.contains(axis) {
            let current = (dim: dims[axis], strides: strides.map { $0[axis] }, fixed: keep.contains(axis))
            if let last = joined.last, !last.fixed, !current.fixed,
                zip(last.strides, current.strides).allSatisfy({ $0 == $1 * current.dim })
            {
                joined[joined.count - 1] = (last.dim * current.dim, current.strides, false)
            } else {
                joined.append(current)
            }
        }
        if joined.isEmpty { joined = [(1, strides.map { _ in 1 }, false)] }
        kept = joined.map(\.fixed)
        dims = joined.map(\.dim)
        strides = strides.indices.map { tensor in joined.map { $0.strides[tensor] } }
    }
}
