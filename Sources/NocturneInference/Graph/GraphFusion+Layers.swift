internal import CNocturneKernels

/// The patterns of transformers.
extension GraphFusion {
    /// A factor and an addend that are the same for all elements.
    private func scalar(_ index: Int) -> (x: Int, scale: Float, shift: Float)? {
        let operation = graph.operations[index]
        switch operation.kind {
        case .channelAffine(let scale, let shift, let slope):
            guard slope == 1, let a = scale.first, let b = shift.first, scale.allSatisfy({ $0 == a }),
                shift.allSatisfy({ $0 == b })
            else { return nil }
            return (operation.inputs[0], a, b)
        // Division and subtraction only with the constant as the second operand: c / x and c - x are other functions.
        case .binary(let kind):
            for side in 0..<2 {
                guard let tensor = graph.constants[operation.inputs[side]], tensor.count == 1,
                    graph.shapes[operation.inputs[1 - side]] == graph.shapes[operation.output]
                else { continue }
                let (x, number) = (operation.inputs[1 - side], tensor.floats[0])
                switch Int(kind) {
                case NK_BINARY_ADD: return (x, 1, number)
                case NK_BINARY_MUL: return (x, number, 0)
                case NK_BINARY_DIV where side == 1 && number != 0: return (x, 1 / number, 0)
                case NK_BINARY_SUB where side == 1: return (x, 1, -number)
                default: continue
                }
            }
            return nil
        default: return nil
        }
    }

    /// The factor of a multiplication by one constant.
    private func factor(_ value: Int, producer: (GraphFusion, Int) -> Int?) -> (x: Int, scale: Float)? {
        guard let index = producer(self, value), let found = scalar(index), found.shift == 0 else { return nil }
        return (found.x, found.scale)
    }

    /// x / 2 * (1 + erf(x / sqrt(2))), in the orders in which exporters write it.
    mutating func mergeGelu(_ index: Int) {
        let last = graph.operations[index]
        let sole: (GraphFusion, Int) -> Int? = { $0.soleProducer($1) }
        var factors: (Int, Int)?
        // Either (x * bell) * 0.5, or (x * 0.5) * bell with the factors in any order.
        if let outer = scalar(index), outer.shift == 0, outer.scale == 0.5, let product = soleProducer(outer.x) {
            factors = multiplied(product)
        } else if let pair = multiplied(index) {
            // One of the factors is half of x.
            if let half = factor(pair.0, producer: sole), half.scale == 0.5 {
                factors = (half.x, pair.1)
            } else if let half = factor(pair.1, producer: sole), half.scale == 0.5 {
                factors = (half.x, pair.0)
            }
        }
        guard let factors else { return }
        // Which factor is x is known only from the other one.
        for (x, bell) in [factors, (factors.1, factors.0)] where isErrorFunction(bell, of: x) {
            let kind = Operation.Kind.unary(Operation.Unary(kind: Int32(NK_UNARY_GELU)))
            replace(index, with: kind, inputs: [x], title: last.title)
            removeUnread()
            return
        }
    }

    private func multiplied(_ index: Int) -> (Int, Int)? {
        guard case .binary(Int32(NK_BINARY_MUL)) = graph.operations[index].kind else { return nil }
        return (graph.operations[index].inputs[0], graph.operations[index].inputs[1])
    }

    /// Whether a value is 1 + erf(x / sqrt(2)).
    private func isErrorFunction(_ value: Int, of x: Int) -> Bool {
        guard let outer = soleProducer(value), let added = scalar(outer), added.scale == 1, added.shift == 1,
            let middle = soleProducer(added.x), case .unary(let function) = graph.operations[middle].kind,
            function.kind == Int32(NK_UNARY_ERF), let inner = soleProducer(graph.operations[middle].inputs[0]),
            // 1 / sqrt(2). Exporters write it as a factor or as a divisor, rounded to float32.
            let scaled = scalar(inner), scaled.shift == 0, abs(scaled.scale - 0.70710678) < 1e-6
        else { return false }
        return scaled.x == x
    }

    /// A product with a constant matrix becomes a layer whose weights can be packed: a convolution without a window.
    mutating func mergeLinear(_ index: Int) {
        let operation = graph.operations[index]
        guard case .matrixProduct(let parameters) = operation.kind, !parameters.transposeA,
            let matrix = graph.constants[operation.inputs[1]], matrix.shape.count == 2,
            graph.constants[operation.inputs[0]] == nil, graph.shapes[operation.inputs[0]].count >= 2,
            graph.shapes[operation.inputs[0]].dropLast().reduce(1, *) <= GraphBinder.maximumExtent
        else { return }
        let (rows, columns) = (matrix.shape[0], matrix.shape[1])
        var weights = matrix.floats
        if !parameters.transposeB {
            // The layer takes [output][input]; the stored matrix is [input][output].
            weights = [Float](unsafeUninitializedCapacity: rows * columns) { buffer, count in
                for column in 0..<columns {
                    for row in 0..<rows { buffer[column * rows + row] = matrix.floats(at: row * columns + column) }
                }
                count = rows * columns
            }
        }
        if parameters.alpha != 1 { weights = weights.map { $0 * parameters.alpha } }
        let linear = Operation.Convolution(
            weights: weights,
            kernel: [1, 1],
            stride: [1, 1],
            padBefore: [0, 0],
            dilation: [1, 1],
            groups: 1,
            inputChannels: parameters.transposeB ? columns : rows,
            outputChannels: parameters.transposeB ? rows : columns,
            transposed: false
        )
        replace(index, with: .linear(linear), inputs: [operation.inputs[0]], title: operation.title)
    }

    /// A constant for each output, a value of the output's shape, or a leaky ReLU after a linear layer.
    mutating func mergeIntoLinear(_ index: Int) {
        let operation = graph.operations[index]
        switch operation.kind {
        case .unary(let function) where function.kind == Int32(NK_UNARY_LEAKY):
            guard let (producer, found) = linear(operation.inputs[0]) else { return }
            var parameters = found
            parameters.slope = function.first
            replace(index, with: .linear(parameters), inputs: graph.operations[producer].inputs, title: operation.title)
            remove(producer)
        case .sum(slope: 1): add(index, operation)
        case .binary(Int32(NK_BINARY_ADD)): add(index, operation)
        case .binary(Int32(NK_BINARY_MUL)): multiply(index, operation)
        default: return
        }
    }

    /// Multiplies each output's weights by a constant.
    private mutating func multiply(_ index: Int, _ operation: Operation) {
        let shape = graph.shapes[operation.output]
        for side in 0..<2 {
            guard let (producer, found) = linear(operation.inputs[side]), graph.operations[producer].inputs.count == 1,
                graph.shapes[operation.inputs[side]] == shape,
                let factors = graph.constants[operation.inputs[1 - side]]?.floats, factors.count == shape.last,
                graph.shapes[operation.inputs[1 - side]].last == shape.last
            else { continue }
            var parameters = found
            parameters.multiply(by: factors)
            for (output, factor) in factors.enumerated() { parameters.bias?[output] *= factor }
            let inputs = graph.operations[producer].inputs
            replace(index, with: .linear(parameters), inputs: inputs, title: graph.operations[producer].title)
            remove(producer)
            return
        }
    }

    private mutating func add(_ index: Int, _ operation: Operation) {
        let shape = graph.shapes[operation.output]
        for side in 0..<2 where operation.inputs[0] != operation.inputs[1] {
            guard let (producer, found) = linear(operation.inputs[side]), graph.operations[producer].inputs.count == 1,
                graph.shapes[operation.inputs[side]] == shape
            else { continue }
            var parameters = found
            let (other, x) = (operation.inputs[1 - side], graph.operations[producer].inputs[0])
            var inputs = [x]
            if let constant = graph.constants[other], found.bias == nil, constant.count == shape.last,
                constant.shape.last == shape.last
            {
                parameters.bias = constant.floats
            } else if graph.shapes[other] == shape {
                inputs.append(other)
            } else {
                continue
            }
            replace(index, with: .linear(parameters), inputs: inputs, title: graph.operations[producer].title)
            remove(producer)
            return
        }
    }

    private func linear(_ value: Int) -> (Int, Operation.Convolution)? {
        guard let producer = soleProducer(value), case .linear(let parameters) = graph.operations[producer].kind,
            parameters.slope == 1
        else { return nil }
        return (producer, parameters)
    }

    // MARK: Attention

    private struct Scores {
        var query: Int
        var key: Int
        var product: Operation.MatrixProduct
        var scale: Float
        var addends: [(value: Int, shape: [Int])] = []
    }

    /// softmax(scale * query key + addends) value: the scores, whose number is the square of that of the tokens, are
    /// then never stored.
    mutating func mergeAttention(_ index: Int) {
        let operation = graph.operations[index]
        guard case .matrixProduct(let outer) = operation.kind, !outer.transposeA, outer.alpha == 1,
            let middle = soleProducer(operation.inputs[0]),
            case .alongAxes(let axes, .softmax(logarithm: false)) = graph.operations[middle].kind,
            axes == [graph.shapes[operation.inputs[0]].count - 1],
            let scores = scores(graph.operations[middle].inputs[0]),
            Self.batchCount(graph.shapes[scores.query]) == Self.batchCount(graph.shapes[operation.output]),
            Self.sameBatch(graph.shapes[scores.query], graph.shapes[scores.key]),
            Self.sameBatch(graph.shapes[operation.inputs[0]], graph.shapes[operation.inputs[1]])
        else { return }
        let parameters = Operation.Attention(
            transposeQuery: scores.product.transposeA,
            transposeKey: scores.product.transposeB,
            transposeValue: outer.transposeB,
            scale: scores.scale,
            addendShapes: scores.addends.map(\.shape)
        )
        let inputs = [scores.query, scores.key, operation.inputs[1]] + scores.addends.map(\.value)
        replace(index, with: .attention(parameters), inputs: inputs, title: operation.title)
        removeUnread()
    }

    private static func batchCount(_ shape: [Int]) -> Int { shape.dropLast(2).reduce(1, *) }

    private static func sameBatch(_ a: [Int], _ b: [Int]) -> Bool { a.dropLast(2) == b.dropLast(2) }

    /// Follows a value back to the product of query and key.
    private func scores(_ value: Int, depth: Int = 0) -> Scores? {
        // A scale, a reshape and two addends are at most a handful of operations.
        guard depth < 8, let producer = soleProducer(value) else { return nil }
        let operation = graph.operations[producer]
        let shape = graph.shapes[value]
        if let found = scalar(producer) {
            // A scale after an addend would scale the addend too.
            guard found.shift == 0, var scores = scores(found.x, depth: depth + 1), scores.addends.isEmpty else {
                return nil
            }
            scores.scale *= found.scale
            return scores
        }
        switch operation.kind {
        case .matrixProduct(let product):
            return Scores(query: operation.inputs[0], key: operation.inputs[1], product: product, scale: product.alpha)
        case .reshape:
            guard graph.shapes[operation.inputs[0]].suffix(2) == shape.suffix(2), shape.count >= 2 else { return nil }
            return scores(operation.inputs[0], depth: depth + 1)
        case .sum(slope: 1): return addend(operation, shape, depth)
        case .binary(Int32(NK_BINARY_ADD)): return addend(operation, shape, depth)
        default: return nil
        }
    }

    private func addend(_ operation: Operation, _ shape: [Int], _ depth: Int) -> Scores? {
        for side in 0..<2 where graph.shapes[operation.inputs[side]] == shape {
            guard var scores = scores(operation.inputs[side], depth: depth + 1),
                scores.addends.count < NK_MAX_ADDENDS
            else { continue }
            scores.addends.append((operation.inputs[1 - side], shape))
            return scores
        }
        return nil
    }
}
