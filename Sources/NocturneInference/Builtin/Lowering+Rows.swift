internal import CNocturneKernels

/// Operations along some axes, in whatever layout their input has.
extension Lowering {
    /// A tensor as `[outer][n][inner]`, where n counts the elements along some axes.
    struct Rows {
        var stored: Stored
        var outer: Int
        var n: Int
        var inner: Int

        /// For a single thread's part of the work.
        var positions: Int { outer * inner }
    }

    /// Axes longer than 1 in memory order, from the slowest to the fastest.
    static func memoryOrder(_ shape: [Int], _ strides: [Int]) -> [Int] {
        StridedLoop.order(shape, strides).filter { shape[$0] > 1 }
    }

    /// Dense strides of another shape with the same order of axes.
    static func strides(_ shape: [Int], ordered order: [Int]) -> [Int] {
        var strides = [Int](repeating: 1, count: shape.count)
        var step = 1
        for axis in order.reversed() {
            strides[axis] = step
            step *= shape[axis]
        }
        return strides
    }

    private static func rows(_ shape: [Int], _ stored: Stored, along axes: [Int]) -> Rows? {
        let order = memoryOrder(shape, stored.strides)
        let wanted = axes.filter { shape[$0] > 1 }
        let places = order.indices.filter { wanted.contains(order[$0]) }
        guard let first = places.first, let last = places.last else {
            return Rows(stored: stored, outer: shape.reduce(1, *), n: 1, inner: 1)
        }
        guard order[first...last].elementsEqual(wanted) else { return nil }
        func count(_ axes: ArraySlice<Int>) -> Int { axes.reduce(1) { $0 * shape[$1] } }
        return Rows(
            stored: stored,
            outer: count(order[..<first]),
            n: count(order[first...last]),
            inner: count(order[(last + 1)...])
        )
    }

    /// A value as rows along ascending axes; moved where no layout has them next to each other. With `innermost`, the
    /// axes are the fastest ones.
    mutating func rows(_ value: Int, along axes: [Int], innermost: Bool = false) throws -> Rows {
        let shape = graph.shapes[value]
        for candidate in [try stored(value), try plain(value)] {
            if let rows = Self.rows(shape, candidate, along: axes), !innermost || rows.inner == 1 || rows.n == 1 {
                return rows
            }
        }
        let order = shape.indices.filter { !axes.contains($0) } + axes
        let target = Stored(buffer: workspace(floatsOf: shape), strides: Self.strides(shape, ordered: order))
        append(copyStep(from: try stored(value), to: target, shape: shape))
        let n = axes.reduce(1) { $0 * shape[$1] }
        return Rows(stored: target, outer: shape.reduce(1, *) / n, n: n, inner: 1)
    }

    mutating func lowerAlongAxes(_ operation: Operation, _ axes: [Int], _ function: Operation.AxisFunction) throws {
        let (input, shape) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        switch function {
        case .softmax, .normalise:
            // The result has the layout of the input, and is written over it if that is no longer needed.
            let isNormalisation = if case .normalise = function { true } else { false }
            let rows = try rows(operation.inputs[0], along: axes, innermost: isNormalisation)
            let inPlace = canOverwrite(rows.stored.buffer, by: operation)
            let buffer = inPlace ? rows.stored.buffer : workspace(floatsOf: shape)
            append(RowsStep(function: function, rows: rows, target: buffer))
            recordStorage(operation.output, .stored(Stored(buffer: buffer, strides: rows.stored.strides)))
        case .reduce, .argument, .topK, .runningSum:
            let rows = try rows(operation.inputs[0], along: axes)
            let order = Self.memoryOrder(input, rows.stored.strides)
            let target = Stored(buffer: workspace(floatsOf: shape), strides: Self.strides(shape, ordered: order))
            append(RowsStep(function: function, rows: rows, target: target.buffer), resultOf: operation, in: target)
        }
    }
}
