/// Matrix products, linear layers and attention.
extension Lowering {
    /// The last two axes of a tensor as matrices that the products can read where they are.
    private mutating func matrix(_ value: Int, transposed: Bool) throws -> ProductStep.Operand {
        let shape = graph.shapes[value]
        var stored = try stored(value)
        if ProductStep.Operand(stored, shape) == nil { stored = try plain(value) }
        guard var operand = ProductStep.Operand(stored, shape) else {
            throw ModelFormatError.malformed(path: path, reason: "a matrix of shape \(shape)")
        }
        if transposed { operand.isTransposed.toggle() }
        return operand
    }

    /// The layout in which the only reader wants a value, if that is a transposition that keeps the last axis.
    private func wantedStrides(_ operation: Operation) -> [Int] {
        let shape = graph.shapes[operation.output]
        let readers = readers[operation.output]
        guard readers.count == 1, !graph.outputs.contains(where: { $0.value == operation.output }),
            case .move(let parameters) = graph.operations[readers[0].operation].kind,
            let order = parameters.transposition(
                from: shape,
                to: graph.shapes[graph.operations[readers[0].operation].output]
            ),
            order.last == shape.count - 1
        else { return Extents.strides(shape) }
        let moved = Extents.strides(order.map { shape[$0] })
        var strides = [Int](repeating: 0, count: shape.count)
        for (place, axis) in order.enumerated() { strides[axis] = moved[place] }
        return strides
    }

    /// The result is written in the order in which its only reader wants it; see ``wantedStrides(_:)``.
    mutating func lowerProduct(_ operation: Operation, _ parameters: Operation.MatrixProduct) throws {
        let shape = graph.shapes[operation.output]
        let left = try matrix(operation.inputs[0], transposed: parameters.transposeA)
        let right = try matrix(operation.inputs[1], transposed: parameters.transposeB)
        let target = Stored(buffer: workspace(floatsOf: shape), strides: wantedStrides(operation))
        let operand = graph.shapes[operation.inputs[0]]
        append(
            ProductStep(
                left,
                right,
                result: (target, shape),
                depth: operand[operand.count - (parameters.transposeA ? 2 : 1)],
                alpha: parameters.alpha
            ),
            resultOf: operation,
            in: target
        )
    }

    /// The tokens of a linear layer are the voxels of its convolution.
    mutating func lowerLinear(_ operation: Operation, _ parameters: Operation.Convolution) throws {
        let shape = graph.shapes[operation.output]
        let source = try plain(operation.inputs[0])
        let residual = operation.inputs.count > 1 ? try plain(operation.inputs[1]).buffer : nil
        let tokens = Self.rectangle(shape.dropLast().reduce(1, *))
        let plan = try plan(parameters, kind: .linearLayer, of: operation, input: tokens, output: tokens)
        let target = Stored(buffer: workspace(floatsOf: shape), strides: Extents.strides(shape))
        append(
            ConvolutionStep(
                plan: plan,
                sources: [Piece(stored: source, channels: parameters.inputChannels)],
                residual: residual,
                output: target,
                slope: parameters.slope,
                statistics: nil,
                inputShape: [1, parameters.inputChannels] + tokens,
                outputShape: [1, parameters.outputChannels] + tokens
            ),
            resultOf: operation,
            in: target
        )
    }

    /// Rows of a number of tokens, of lengths that the kernels divide well.
    /// The widest of 112 to 28 tokens that divides their number; one row for numbers without such a divisor.
    private static func rectangle(_ count: Int) -> [Int] {
        let width = stride(from: 112, through: 28, by: -1).first { count % $0 == 0 } ?? count
        return [count / width, width]
    }

    mutating func lowerAttention(_ operation: Operation, _ parameters: Operation.Attention) throws {
        let shape = graph.shapes[operation.output]
        let (query, key) = (graph.shapes[operation.inputs[0]], graph.shapes[operation.inputs[1]])
        // Query, key and value, then the addends.
        let operands = [
            try matrix(operation.inputs[0], transposed: parameters.transposeQuery),
            try matrix(operation.inputs[1], transposed: parameters.transposeKey),
            try matrix(operation.inputs[2], transposed: parameters.transposeValue),
        ]
        var addends: [AttentionStep.Addend] = []
        for (value, full) in zip(operation.inputs.dropFirst(3), parameters.addendShapes) {
            addends.append(AttentionStep.Addend(try stored(value), graph.shapes[value], broadcastTo: full))
        }
        let target = Stored(buffer: workspace(floatsOf: shape), strides: wantedStrides(operation))
        append(
            AttentionStep(
                operands: operands,
                addends: addends,
                result: (target, shape),
                depth: query[query.count - (parameters.transposeQuery ? 2 : 1)],
                keys: key[key.count - (parameters.transposeKey ? 2 : 1)],
                scale: parameters.scale
            ),
            resultOf: operation,
            in: target
        )
    }
}
