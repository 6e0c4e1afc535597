internal import CNocturneKernels
internal import NocturneConcurrency
import NocturneSystem

/// Moves elements between strided tensors, by lines and index tables.
struct MoveStep: Step {
    let source: Int
    let target: Int
    let sourceOffset: Int
    let targetOffset: Int
    let dims: [Int]
    let sourceStrides: [Int]
    let targetStrides: [Int]
    let tables: [[Int]?]
    let fill: Float

    init(
        _ parameters: Operation.Move,
        source: Lowering.Stored,
        target: Lowering.Stored,
        targetOffset: Int,
        shape: [Int]
    ) {
        self.source = source.buffer
        self.target = target.buffer
        self.targetOffset = targetOffset
        fill = parameters.fill
        // What is the same for all elements is added once: fixed indices, and where lines begin.
        var offset = parameters.fixed.reduce(0) { $0 + source.strides[$1.key] * $1.value }
        var strides: [Int] = []
        var places: [[Int]?] = []
        for axis in parameters.axes {
            let step = axis.input.map { source.strides[$0] } ?? 0
            switch axis.map {
            case .line(let start, let stride):
                offset += start * step
                strides.append(stride * step)
                places.append(nil)
            case .table(let table):
                strides.append(0)
                places.append(table.map { $0 < 0 ? -1 : $0 * step })
            }
        }
        sourceOffset = offset
        // Axes in the order of the target's memory; neighbours that can be walked as one axis are merged.
        let order = StridedLoop.order(shape, target.strides)
        var loop = StridedLoop(dims: order.map { shape[$0] })
        loop.strides = [order.map { strides[$0] }, order.map { target.strides[$0] }]
        let tabled = order.indices.filter { places[order[$0]] != nil }
        loop.collapse(keep: Set(tabled))
        dims = loop.dims
        sourceStrides = loop.strides[0]
        targetStrides = loop.strides[1]
        // Axes with tables are never merged or removed, so they keep their order.
        var remaining = tabled.map { places[order[$0]] }[...]
        tables = loop.kept.map { $0 ? remaining.removeFirst() : nil }
    }

    var reads: [Int] { [source] }
    var writes: [Int] { [target] }
    var work: StepWork {
        let read = StepWork.elementsRead(dims: dims, strides: sourceStrides, tabled: tables.map { $0 != nil })
        return .traffic(.copy, elements: read + dims.reduce(1, *))
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let from = ParallelReader(UnsafePointer(run.floats(source) + sourceOffset))
        let to = ParallelBuffer(run.floats(target) + targetOffset)
        try run.forEachPart(of: dims.reduce(1, *), cost: 2) { begin, end in
            withTables(tables[...], []) { pointers in
                nk_move(
                    Int32(dims.count),
                    dims,
                    from.base,
                    sourceStrides,
                    pointers,
                    to.base,
                    targetStrides,
                    fill,
                    begin,
                    end
                )
            }
        }
    }

    /// Pins the tables one after another, then calls the body with all pointers.
    private func withTables(
        _ rest: ArraySlice<[Int]?>,
        _ pointers: [UnsafePointer<Int>?],
        _ body: ([UnsafePointer<Int>?]) -> Void
    ) {
        guard let first = rest.first else { return body(pointers) }
        if let table = first {
            table.withUnsafeBufferPointer { withTables(rest.dropFirst(), pointers + [$0.baseAddress], body) }
        } else {
            withTables(rest.dropFirst(), pointers + [nil], body)
        }
    }
}

/// `[batch][rows][columns]` to `[batch][columns][rows]`.
struct TransposeStep: Step {
    let source: Int
    let target: Int
    let batch: Int
    let rows: Int
    let columns: Int

    var reads: [Int] { [source] }
    var writes: [Int] { [target] }
    var work: StepWork { .traffic(.copy, elements: 2 * batch * rows * columns) }

    func run(_ run: PlanRun) throws(CancelledError) {
        for item in 0..<batch {
            let from = ParallelBuffer(run.floats(source) + item * rows * columns)
            let to = ParallelBuffer(run.floats(target) + item * rows * columns)
            try run.forEachPart(of: rows, cost: 2 * columns) { begin, end in
                nk_transpose(from.base, to.base, rows, columns, begin, end)
            }
        }
    }
}

/// Maximum or average over windows.
struct PoolStep: Step {
    let source: Int
    let target: Int
    let desc: nk_pool_desc
    let batch: Int
    let inputCount: Int
    let outputCount: Int

    init(_ parameters: Operation.Pool, source: Int, target: Int, input: [Int], output: [Int]) {
        self.source = source
        self.target = target
        batch = input[0]
        inputCount = input[1...].reduce(1, *)
        outputCount = output[1...].reduce(1, *)
        desc = nk_pool_desc(
            in: Self.tuple(Array(input[2...]), 1),
            out: Self.tuple(Array(output[2...]), 1),
            kernel: Self.tuple(parameters.kernel, 1),
            stride: Self.tuple(parameters.stride, 1),
            pad: Self.tuple(parameters.padBefore, 0),
            dilation: Self.tuple(parameters.dilation, 1),
            padded: Self.tuple(parameters.padded, 1),
            channels: Int32(input[1]),
            mode: parameters.mode
        )
    }

    private static func tuple(_ list: [Int], _ filler: Int) -> (Int32, Int32, Int32) {
        let three = Lowering.three(list, filler: filler)
        return (three[0], three[1], three[2])
    }

    var reads: [Int] { [source] }
    var writes: [Int] { [target] }
    var work: StepWork { .traffic(.pooling, elements: batch * (inputCount + outputCount)) }

    func run(_ run: PlanRun) throws(CancelledError) {
        let rows = Int(desc.out.0) * Int(desc.out.1)
        let taps = Int(desc.kernel.0) * Int(desc.kernel.1) * Int(desc.kernel.2)
        for item in 0..<batch {
            let from = ParallelBuffer(run.floats(source) + item * inputCount)
            let to = ParallelBuffer(run.floats(target) + item * outputCount)
            try run.forEachPart(of: rows, cost: Int(desc.out.2) * Int(desc.channels) * (taps + 1)) { begin, end in
                var desc = desc
                nk_pool(&desc, from.base, to.base, begin, end)
            }
        }
    }
}

/// Linear interpolation.
struct InterpolationStep: Step {
    let source: Int
    let target: Int
    let axes: [Operation.InterpolationAxis]
    let input: [Int32]
    let output: [Int32]
    let batch: Int
    let channels: Int

    init(_ axes: [Operation.InterpolationAxis], source: Int, target: Int, input: [Int], output: [Int]) {
        self.source = source
        self.target = target
        batch = input[0]
        channels = input[1]
        self.input = Lowering.three(Array(input[2...]), filler: 1)
        self.output = Lowering.three(Array(output[2...]), filler: 1)
        // Missing axes have one position, which is read as it is.
        let missing = Operation.InterpolationAxis(low: [0], high: [0], weight: [0])
        self.axes = [Operation.InterpolationAxis](repeating: missing, count: 3 - axes.count) + axes
    }

    var reads: [Int] { [source] }
    var writes: [Int] { [target] }
    var work: StepWork {
        let voxels = [input, output].reduce(0) { $0 + $1.reduce(1) { $0 * Int($1) } }
        return .traffic(.interpolation, elements: batch * channels * voxels)
    }

    func run(_ run: PlanRun) throws(CancelledError) {
        let (inputCount, outputCount) = (
            input.reduce(channels) { $0 * Int($1) }, output.reduce(channels) { $0 * Int($1) }
        )
        for item in 0..<batch {
            let from = ParallelBuffer(run.floats(source) + item * inputCount)
            let to = ParallelBuffer(run.floats(target) + item * outputCount)
            try run.forEachPart(
                of: Int(output[0]) * Int(output[1]),
                // Eight neighbours and one result for each value.
                cost: Int(output[2]) * channels * 9
            ) { begin, end in
                withAxis(0) { l0, h0, w0 in
                    withAxis(1) { l1, h1, w1 in
                        withAxis(2) { l2, h2, w2 in
                            var desc = nk_interpolation(
                                in: (input[0], input[1], input[2]),
                                out: (output[0], output[1], output[2]),
                                channels: Int32(channels),
                                low: (l0, l1, l2),
                                high: (h0, h1, h2),
                                weight: (w0, w1, w2)
                            )
                            nk_interpolate(&desc, from.base, to.base, begin, end)
                        }
                    }
                }
            }
        }
    }

    private func withAxis(
        _ index: Int,
        _ body: (UnsafePointer<Int32>?, UnsafePointer<Int32>?, UnsafePointer<Float>?) -> Void
    ) {
        axes[index].low.withUnsafeBufferPointer { low in
            axes[index].high.withUnsafeBufferPointer { high in
                axes[index].weight.withUnsafeBufferPointer { body(low.baseAddress, high.baseAddress, $0.baseAddress) }
            }
        }
    }
}
