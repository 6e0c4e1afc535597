/// Matrix products.
extension GraphBinder {
    static let productHandlers: [String: Handler] = [
        "Gemm": { binder, node throws(ModelFormatError) in try binder.gemm(node) },
        "MatMul": { binder, node throws(ModelFormatError) in try binder.matrixProduct(node) },
    ]

    /// alpha * A * B + beta * C, where C is broadcast to the product.
    private mutating func gemm(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let (a, b) = (try operand(node, 0), try operand(node, 1))
        let parameters = Operation.MatrixProduct(
            transposeA: node.integer("transA", 0) != 0,
            transposeB: node.integer("transB", 0) != 0,
            alpha: node.float("alpha", 1)
        )
        var (left, right) = (bound.shapes[a], bound.shapes[b])
        guard left.count == 2, right.count == 2 else { throw failure(node, "operands of shapes \(left) and \(right)") }
        if parameters.transposeA { left.reverse() }
        if parameters.transposeB { right.reverse() }
        guard left[1] == right[0] else { throw failure(node, "operands of shapes \(left) and \(right)") }
        let shape = [left[0], right[1]]
        guard node.hasInput(2), node.float("beta", 1) != 0 else {
            try emit(.matrixProduct(parameters), [a, b], shape: shape, node: node)
            return
        }
        var addend = try value(node, 2)
        let beta = node.float("beta", 1)
        guard Extents.broadcast(self.shape(addend), shape) == shape else {
            throw failure(node, "an addend of shape \(self.shape(addend)) for \(shape)")
        }
        // A constant C is multiplied here, once.
        if beta != 1 {
            guard case .constant(let tensor) = addend else { throw unsupported(node, "beta with a calculated addend") }
            addend = .constant(ConstantTensor(shape: tensor.shape, floats: tensor.floats.map { $0 * beta }))
        }
        let product = try append(.matrixProduct(parameters), [a, b], shape: shape, node: node)
        let added = try materialised(addend, title: node.title)
        // 0 is NK_BINARY_ADD.
        try emit(.binary(0), [product, added], shape: shape, node: node)
    }

    /// As numpy's matmul: the axes before the last two are a batch, and are broadcast.
    private mutating func matrixProduct(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let (a, b) = (try operand(node, 0), try operand(node, 1))
        let (first, second) = (bound.shapes[a], bound.shapes[b])
        guard !first.isEmpty, !second.isEmpty else { throw failure(node, "a scalar operand") }
        // For the product, a vector is treated as a matrix of one row or of one column.
        let left = first.count == 1 ? [1] + first : first
        let right = second.count == 1 ? second + [1] : second
        guard left[left.count - 1] == right[right.count - 2],
            let batch = Extents.broadcast(Array(left.dropLast(2)), Array(right.dropLast(2)))
        else { throw failure(node, "operands of shapes \(first) and \(second)") }
        let wideA = first.count == 1 ? try append(.reshape, [a], shape: left, node: node) : a
        let wideB = second.count == 1 ? try append(.reshape, [b], shape: right, node: node) : b
        let full = batch + [left[left.count - 2], right[right.count - 1]]
        if first.count > 1, second.count > 1 {
            try emit(.matrixProduct(Operation.MatrixProduct()), [wideA, wideB], shape: full, node: node)
            return
        }
        let product = try append(.matrixProduct(Operation.MatrixProduct()), [wideA, wideB], shape: full, node: node)
        var shape = batch
        if first.count > 1 { shape.append(full[full.count - 2]) }
        if second.count > 1 { shape.append(full[full.count - 1]) }
        try emit(.reshape, [product], shape: shape, node: node)
    }
}
