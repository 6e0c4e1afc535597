internal import CNocturneKernels

/// Functions of one or two tensors, element by element.
extension GraphBinder {
    static let elementwiseHandlers: [String: Handler] = [
        "Identity": { binder, node throws(ModelFormatError) in try binder.pass(node) },
        "Dropout": { binder, node throws(ModelFormatError) in try binder.pass(node) },
        "PRelu": { binder, node throws(ModelFormatError) in try binder.binary(node, NK_BINARY_PRELU) },
        "Clip": { binder, node throws(ModelFormatError) in
            let low = try binder.constant(node, 1)?.floats.first ?? node.float("min", -.greatestFiniteMagnitude)
            let high = try binder.constant(node, 2)?.floats.first ?? node.float("max", .greatestFiniteMagnitude)
            try binder.unary(node, NK_UNARY_CLIP, low, high)
        },
        "Sum": { binder, node throws(ModelFormatError) in try binder.folded(node, NK_BINARY_ADD) },
        "Min": { binder, node throws(ModelFormatError) in try binder.folded(node, NK_BINARY_MIN) },
        "Max": { binder, node throws(ModelFormatError) in try binder.folded(node, NK_BINARY_MAX) },
        // There is a kernel for the square root.
        "Pow": { binder, node throws(ModelFormatError) in
            if case .constant(let exponent) = try binder.value(node, 1), exponent.count == 1,
                exponent.floats == [0.5], exponent.shape.count <= 1
            {
                try binder.unary(node, NK_UNARY_SQRT)
            } else {
                try binder.binary(node, NK_BINARY_POW)
            }
        },
        "LeakyRelu": { binder, node throws(ModelFormatError) in
            try binder.unary(node, NK_UNARY_LEAKY, node.float("alpha", 0.01))
        },
        "HardSigmoid": { binder, node throws(ModelFormatError) in
            try binder.unary(node, NK_UNARY_HARD_SIGMOID, node.float("alpha", 0.2), node.float("beta", 0.5))
        },
        "Elu": { binder, node throws(ModelFormatError) in
            try binder.unary(node, NK_UNARY_ELU, node.float("alpha", 1))
        },
        "Relu": function(NK_UNARY_LEAKY),
        "Sigmoid": function(NK_UNARY_SIGMOID),
        "HardSwish": function(NK_UNARY_HARD_SWISH),
        "Exp": function(NK_UNARY_EXP),
        "Sqrt": function(NK_UNARY_SQRT),
        "Tanh": function(NK_UNARY_TANH),
        "Abs": function(NK_UNARY_ABS),
        "Neg": function(NK_UNARY_NEG),
        "Reciprocal": function(NK_UNARY_RECIPROCAL),
        "Log": function(NK_UNARY_LOG),
        "Erf": function(NK_UNARY_ERF),
        "Softplus": function(NK_UNARY_SOFTPLUS),
        "Floor": function(NK_UNARY_FLOOR),
        "Round": function(NK_UNARY_ROUND),
        "Sign": function(NK_UNARY_SIGN),
        "Sin": function(NK_UNARY_SINE),
        "Cos": function(NK_UNARY_COSINE),
        "Ceil": function(NK_UNARY_CEIL),
        "Add": pair(NK_BINARY_ADD),
        "Sub": pair(NK_BINARY_SUB),
        "Mul": pair(NK_BINARY_MUL),
        "Div": pair(NK_BINARY_DIV),
    ]

    /// The handler of a function that has no attributes.
    private static func function(_ kind: Int) -> Handler {
        { binder, node throws(ModelFormatError) in try binder.unary(node, kind) }
    }

    private static func pair(_ kind: Int) -> Handler {
        { binder, node throws(ModelFormatError) in try binder.binary(node, kind) }
    }

    /// The output is the input.
    mutating func pass(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        guard node.outputs.dropFirst().allSatisfy(\.isEmpty) else { throw unsupported(node, "mask output") }
        try setOutput(of: node, to: try value(node, 0))
    }

    /// A function of the elements of a value, by default of the first operand, as the node's result.
    @discardableResult
    mutating func unary(
        _ node: NetworkGraph.Node,
        _ kind: Int,
        _ first: Float = 0,
        _ second: Float = 0,
        of value: Int? = nil
    ) throws(ModelFormatError) -> Int {
        let x = if let value { value } else { try operand(node, 0) }
        let function = Operation.Unary(kind: Int32(kind), first: first, second: second)
        return try emit(.unary(function), [x], shape: bound.shapes[x], node: node)
    }

    private mutating func binary(_ node: NetworkGraph.Node, _ kind: Int) throws(ModelFormatError) {
        // ONNX divides integers towards zero; here they are computed in float32.
        if kind == NK_BINARY_DIV, try isInteger(node, 0), try isInteger(node, 1) {
            let operands = (try operand(node, 0), try operand(node, 1))
            let quotient = try emitPair(kind, operands, node, last: false)
            try unary(node, NK_UNARY_TRUNCATE, of: quotient)
            return
        }
        if try channelAffine(node, kind) { return }
        try emitPair(kind, (try operand(node, 0), try operand(node, 1)), node, last: true)
    }

    private func isInteger(_ node: NetworkGraph.Node, _ index: Int) throws(ModelFormatError) -> Bool {
        switch try value(node, index) {
        case .constant(let tensor): tensor.integers != nil
        case .runtime(let number): integerValues.contains(number)
        }
    }

    /// A function of two values; `last` if it is the node's result.
    @discardableResult
    mutating func emitPair(
        _ kind: Int,
        _ operands: (Int, Int),
        _ node: NetworkGraph.Node,
        last: Bool
    ) throws(ModelFormatError) -> Int {
        let (a, b) = operands
        guard let shape = Extents.broadcast(bound.shapes[a], bound.shapes[b]) else {
            throw failure(node, "operands of shapes \(bound.shapes[a]) and \(bound.shapes[b])")
        }
        let isSum = kind == NK_BINARY_ADD && bound.shapes[a] == bound.shapes[b] && (3...5).contains(shape.count)
        let operation: Operation.Kind = isSum ? .sum(slope: 1) : .binary(Int32(kind))
        let value = try append(operation, [a, b], shape: shape, node: node)
        if last, let output = node.outputs.first { values[output] = .runtime(value) }
        return value
    }

    /// Functions of any number of operands, from left to right.
    private mutating func folded(_ node: NetworkGraph.Node, _ kind: Int) throws(ModelFormatError) {
        var result = try operand(node, 0)
        for index in node.inputs.indices.dropFirst() {
            result = try emitPair(kind, (result, try operand(node, index)), node, last: false)
        }
        try setOutput(of: node, to: .runtime(result))
    }

    /// Arithmetic with one constant per channel becomes y = x * scale[c] + shift[c], which can be fused with its
    /// neighbours.
    private mutating func channelAffine(_ node: NetworkGraph.Node, _ kind: Int) throws(ModelFormatError) -> Bool {
        let (first, second) = (try value(node, 0), try value(node, 1))
        let x: Int
        let constant: ConstantTensor
        let constantFirst: Bool
        switch (first, second) {
        case (.runtime(let index), .constant(let tensor)): (x, constant, constantFirst) = (index, tensor, false)
        case (.constant(let tensor), .runtime(let index)): (x, constant, constantFirst) = (index, tensor, true)
        default: return false
        }
        let shape = bound.shapes[x]
        guard (3...5).contains(shape.count), constant.shape.count <= shape.count else { return false }
        // Shapes are aligned at their ends, as for every broadcast.
        let aligned = [Int](repeating: 1, count: shape.count - constant.shape.count) + constant.shape
        guard aligned.indices.allSatisfy({ aligned[$0] == 1 || ($0 == 1 && aligned[1] == shape[1]) }) else {
            return false
        }
        let channels = shape[1]
        let values = constant.floats
        guard values.count == 1 || values.count == channels else { return false }
        let list = values.count == channels ? values : [Float](repeating: values[0], count: channels)
        let ones = [Float](repeating: 1, count: channels)
        let zeros = [Float](repeating: 0, count: channels)
        let affine: Operation.Kind
        switch (kind, constantFirst) {
        case (NK_BINARY_ADD, _): affine = .channelAffine(scale: ones, shift: list, slope: 1)
        case (NK_BINARY_SUB, false): affine = .channelAffine(scale: ones, shift: list.map { -$0 }, slope: 1)
        case (NK_BINARY_SUB, true): affine = .channelAffine(scale: ones.map { -$0 }, shift: list, slope: 1)
        case (NK_BINARY_MUL, _): affine = .channelAffine(scale: list, shift: zeros, slope: 1)
        // A product with the reciprocal, whose last bit may differ from the quotient's.
        case (NK_BINARY_DIV, false) where !list.contains(0):
            affine = .channelAffine(scale: list.map { 1 / $0 }, shift: zeros, slope: 1)
        default: return false
        }
        try emit(affine, [x], shape: shape, node: node)
        return true
    }
}
