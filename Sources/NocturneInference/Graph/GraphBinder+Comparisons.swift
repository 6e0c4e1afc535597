internal import CNocturneKernels

/// Comparisons and logic. Truth values that are computed at run time are the numbers 0 and 1.
extension GraphBinder {
    static let comparisonHandlers: [String: Handler] = [
        "Equal": comparison(NK_BINARY_EQUAL),
        "Less": comparison(NK_BINARY_LESS),
        "LessOrEqual": comparison(NK_BINARY_LESS_EQUAL),
        "Greater": comparison(NK_BINARY_LESS, reversed: true),
        "GreaterOrEqual": comparison(NK_BINARY_LESS_EQUAL, reversed: true),
        "And": comparison(NK_BINARY_MUL),
        "Or": comparison(NK_BINARY_MAX),
        "Xor": { binder, node throws(ModelFormatError) in
            let same = try binder.emitPair(NK_BINARY_EQUAL, try binder.operands(node), node, last: false)
            try binder.unary(node, NK_UNARY_NOT, of: same)
        },
        "Not": { binder, node throws(ModelFormatError) in try binder.unary(node, NK_UNARY_NOT) },
        "IsNaN": { binder, node throws(ModelFormatError) in try binder.unary(node, NK_UNARY_IS_NAN) },
        "Where": { binder, node throws(ModelFormatError) in
            let condition = try binder.operand(node, 0)
            let yes = (condition, try binder.operand(node, 1))
            let no = (condition, try binder.operand(node, 2))
            let first = try binder.emitPair(NK_BINARY_WHERE_TRUE, yes, node, last: false)
            let second = try binder.emitPair(NK_BINARY_WHERE_FALSE, no, node, last: false)
            try binder.emitPair(NK_BINARY_ADD, (first, second), node, last: true)
        },
        "Cast": { binder, node throws(ModelFormatError) in try binder.cast(node) },
    ]

    private static func comparison(_ kind: Int, reversed: Bool = false) -> Handler {
        { binder, node throws(ModelFormatError) in
            let (a, b) = try binder.operands(node)
            try binder.emitPair(kind, reversed ? (b, a) : (a, b), node, last: true)
        }
    }

    private mutating func operands(_ node: NetworkGraph.Node) throws(ModelFormatError) -> (Int, Int) {
        (try operand(node, 0), try operand(node, 1))
    }

    /// Values computed at run time are float32; integers among them are whole numbers.
    private mutating func cast(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let type = ONNXReader.ElementType(attribute: node.integer("to", 1))
        if type?.isFloat == true {
            try pass(node)
            guard case .runtime(let x) = try value(node, 0), integerValues.contains(x) else { return }
            // A separate value, because divisions of integers differ from those of floats.
            try unary(node, NK_UNARY_LEAKY, 1)
            return
        }
        let x = try operand(node, 0)
        switch type {
        case .boolean?:
            let negated = try unary(node, NK_UNARY_NOT, of: x)
            try unary(node, NK_UNARY_NOT, of: negated)
        case .int32?, .int64?:
            if integerValues.contains(x) { return try pass(node) }
            let whole = try unary(node, NK_UNARY_TRUNCATE, of: x)
            integerValues.insert(whole)
        default: throw unsupported(node, "of values computed at run time to type \(node.integer("to", 1))")
        }
    }
}
