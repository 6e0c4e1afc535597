/// Operations that change only how elements are counted, and reading and writing at indices.
extension Lowering {
    mutating func lowerReshape(_ operation: Operation) throws {
        let (from, to) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.output])
        let source = try stored(operation.inputs[0])
        if let strides = Self.reshapedStrides(from, source.strides, to) {
            recordStorage(operation.output, .stored(Stored(buffer: source.buffer, strides: strides)))
            return
        }
        let plain = try plain(operation.inputs[0])
        recordStorage(operation.output, .stored(Stored(buffer: plain.buffer, strides: Extents.strides(to))))
    }

    /// Strides with which another shape reads the same elements in C order; nil where there are none.
    static func reshapedStrides(_ from: [Int], _ strides: [Int], _ to: [Int]) -> [Int]? {
        let kept = from.indices.filter { from[$0] != 1 }
        let (old, steps) = (kept.map { from[$0] }, kept.map { strides[$0] })
        var result = [Int](repeating: 1, count: to.count)
        var (i, j) = (0, 0)
        while i < old.count {
            // The smallest groups of axes with the same number of elements.
            var (count, wanted) = (old[i], 1)
            var group: [Int] = []
            while count != wanted || group.isEmpty {
                if count < wanted {
                    i += 1
                    guard i < old.count, steps[i - 1] == old[i] * steps[i] else { return nil }
                    count *= old[i]
                } else {
                    guard j < to.count else { return nil }
                    group.append(j)
                    wanted *= to[j]
                    j += 1
                }
            }
            var step = steps[i]
            for axis in group.reversed() {
                result[axis] = step
                step *= to[axis]
            }
            i += 1
        }
        return result
    }

    mutating func lowerIndexed(_ operation: Operation, _ kind: Operation.Indexed) throws {
        let shape = graph.shapes[operation.output]
        let sources = try operation.inputs.map { try plain($0).buffer }
        let target = Stored(buffer: workspace(floatsOf: shape), strides: Extents.strides(shape))
        append(
            IndexedStep(
                kind: kind,
                sources: sources,
                shapes: operation.inputs.map { graph.shapes[$0] },
                target: target.buffer,
                shape: shape
            ),
            resultOf: operation,
            in: target
        )
    }
}

extension Operation.Move {
    /// The order of the axes, if the operation from one shape to another only exchanges them.
    func transposition(from input: [Int], to output: [Int]) -> [Int]? {
        guard axes.count == input.count, fixed.isEmpty else { return nil }
        var order: [Int] = []
        for move in axes {
            guard let axis = move.input, case .line(start: 0, step: 1) = move.map, !order.contains(axis) else {
                return nil
            }
            order.append(axis)
        }
        return order.map { input[$0] } == output ? order : nil
    }
}
