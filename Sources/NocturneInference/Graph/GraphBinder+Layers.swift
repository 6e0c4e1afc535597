internal import CNocturneKernels

/// Layers of transformers, and rearrangements between channels and space.
extension GraphBinder {
    static let layerHandlers: [String: Handler] = [
        "LayerNormalization": { binder, node throws(ModelFormatError) in try binder.layerNormalisation(node) },
        "Gelu": { binder, node throws(ModelFormatError) in
            switch node.string("approximate", "none") {
            case "none": try binder.unary(node, NK_UNARY_GELU)
            case "tanh": try binder.unary(node, NK_UNARY_GELU_TANH)
            case let other: throw binder.unsupported(node, "approximate \(other)")
            }
        },
        "DepthToSpace": { binder, node throws(ModelFormatError) in try binder.depthToSpace(node) },
        "SpaceToDepth": { binder, node throws(ModelFormatError) in try binder.spaceToDepth(node) },
        "GlobalMaxPool": { binder, node throws(ModelFormatError) in
            let x = try binder.operand(node, 0)
            let shape = binder.bound.shapes[x]
            guard shape.count >= 3 else { throw binder.failure(node, "an input of rank \(shape.count)") }
            let kept = Array(shape.prefix(2)) + [Int](repeating: 1, count: shape.count - 2)
            let kind = Operation.Kind.alongAxes(Array(2..<shape.count), .reduce(Int32(NK_REDUCE_MAX)))
            try binder.emit(kind, [x], shape: kept, node: node)
        },
    ]

    private mutating func layerNormalisation(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard node.outputs.dropFirst().allSatisfy(\.isEmpty) else { throw unsupported(node, "outputs of statistics") }
        let axis = try axis(node.integer("axis", -1), rank: shape.count, node)
        guard let scale = try perElement(node, 1, of: Array(shape[axis...])) else {
            throw failure(node, "scale is missing")
        }
        let function = Operation.AxisFunction.normalise(
            scale: scale,
            shift: try perElement(node, 2, of: Array(shape[axis...])),
            epsilon: node.float("epsilon", 1e-5)
        )
        try emit(.alongAxes(Array(axis..<shape.count), function), [x], shape: shape, node: node)
    }

    /// A constant that is repeated to `shape`; nil when it is omitted.
    private mutating func perElement(
        _ node: NetworkGraph.Node,
        _ index: Int,
        of shape: [Int]
    ) throws(ModelFormatError) -> [Float]? {
        guard let tensor = try constant(node, index) else { return nil }
        guard Extents.broadcast(tensor.shape, shape) == shape, let count = Extents.count(shape) else {
            throw failure(node, "input \(index) of shape \(tensor.shape) for elements of shape \(shape)")
        }
        try reserveElements(count, title: node.title)
        let strides = Extents.broadcastStrides(tensor.shape, Extents.strides(tensor.shape), to: shape)
        let floats = tensor.floats
        return Extents.places(shape, strides: strides).map { floats[$0] }
    }

    /// The block size, and the input's shape.
    private mutating func block(_ node: NetworkGraph.Node) throws(ModelFormatError) -> (Int, [Int]) {
        let shape = shape(try value(node, 0))
        let size = node.integer("blocksize", 0)
        guard shape.count == 4, (1...1024).contains(size) else {
            throw failure(node, "blocks of \(size) for an input of shape \(shape)")
        }
        return (size, shape)
    }

    private mutating func depthToSpace(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let (size, shape) = try block(node)
        let (n, h, w, c) = (shape[0], shape[2], shape[3], shape[1] / (size * size))
        guard c > 0, c * size * size == shape[1] else { throw failure(node, "blocks of \(size) for shape \(shape)") }
        let columnsFirst = node.string("mode", "DCR") == "CRD"
        let wide = columnsFirst ? [n, c, size, size, h, w] : [n, size, size, c, h, w]
        let order = columnsFirst ? [0, 1, 4, 2, 5, 3] : [0, 3, 4, 1, 5, 2]
        try rearrange(node, wide, order, [n, c, h * size, w * size])
    }

    private mutating func spaceToDepth(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let (size, shape) = try block(node)
        let (n, c, h, w) = (shape[0], shape[1], shape[2] / size, shape[3] / size)
        guard h * size == shape[2], w * size == shape[3] else {
            throw failure(node, "blocks of \(size) for shape \(shape)")
        }
        try rearrange(node, [n, c, h, size, w, size], [0, 3, 5, 1, 2, 4], [n, c * size * size, h, w])
    }

    /// Reshapes, transposes and reshapes again.
    private mutating func rearrange(
        _ node: NetworkGraph.Node,
        _ wide: [Int],
        _ order: [Int],
        _ result: [Int]
    ) throws(ModelFormatError) {
        let reshaped = try append(.reshape, [try operand(node, 0)], shape: wide, node: node)
        let moved = try transposed(reshaped, order, node)
        try emit(.reshape, [moved], shape: result, node: node)
    }

    /// A value with its axes in another order; itself when the order is the same.
    mutating func transposed(_ x: Int, _ order: [Int], _ node: NetworkGraph.Node) throws(ModelFormatError) -> Int {
        if order == Array(order.indices) { return x }
        let axes = order.map { Operation.Move.Axis(input: $0, map: .line(start: 0, step: 1)) }
        let shape = bound.shapes[x]
        return try append(.move(Operation.Move(axes: axes)), [x], shape: order.map { shape[$0] }, node: node)
    }

    /// A value with another shape; itself when the shape is the same.
    mutating func reshaped(_ x: Int, _ shape: [Int], _ node: NetworkGraph.Node) throws(ModelFormatError) -> Int {
        shape == bound.shapes[x] ? x : try append(.reshape, [x], shape: shape, node: node)
    }
}
