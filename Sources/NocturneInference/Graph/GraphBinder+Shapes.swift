/// Operators that give the same elements another shape.
extension GraphBinder {
    static let shapeHandlers: [String: Handler] = [
        "Constant": { binder, node throws(ModelFormatError) in
            throw binder.failure(node, "a constant without a supported value")
        },
        "ConstantOfShape": { binder, node throws(ModelFormatError) in
            throw binder.unsupported(node, "input 0 calculated at run time")
        },
        "Shape": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            try binder.setOutput(of: node, to: .constant(shapeTensor(shape, node)))
        },
        "Size": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            let count = ConstantTensor(shape: [], integers: [Int64(shape.reduce(1, *))])
            try binder.setOutput(of: node, to: .constant(count))
        },
        "Range": { binder, node throws(ModelFormatError) in throw binder.unsupported(node, "calculated at run time") },
        "Mod": { binder, node throws(ModelFormatError) in throw binder.unsupported(node, "calculated at run time") },
        "Reshape": { binder, node throws(ModelFormatError) in
            guard let wanted = try binder.integers(node, 1) ?? node.integers("shape") else {
                throw binder.failure(node, "there is no shape")
            }
            let shape = binder.shape(try binder.value(node, 0))
            try binder.reshape(node, to: try binder.resolve(wanted, of: shape, node))
        },
        "Flatten": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            let given = node.integer("axis", 1)
            let axis = given == shape.count ? given : try binder.axis(given, rank: max(shape.count, 1), node)
            try binder.reshape(node, to: [shape.prefix(axis).reduce(1, *), shape.dropFirst(axis).reduce(1, *)])
        },
        "Squeeze": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            let given = try binder.integers(node, 1) ?? node.integers("axes")
            let dropped =
                try given.map { list throws(ModelFormatError) in
                    try binder.axes(list, rank: shape.count, node)
                } ?? shape.indices.filter { shape[$0] == 1 }
            guard dropped.allSatisfy({ shape[$0] == 1 }) else { throw binder.failure(node, "an axis is longer than 1") }
            try binder.reshape(node, to: shape.indices.filter { !dropped.contains($0) }.map { shape[$0] })
        },
        "Unsqueeze": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            guard let given = try binder.integers(node, 1) ?? node.integers("axes"), given.count <= 8 else {
                throw binder.failure(node, "there are no axes")
            }
            let added = try binder.axes(given, rank: shape.count + given.count, node)
            var rest = shape[...]
            let wide = (0..<shape.count + given.count).map { added.contains($0) ? 1 : rest.removeFirst() }
            try binder.reshape(node, to: wide)
        },
    ]

    private static func shapeTensor(_ shape: [Int], _ node: NetworkGraph.Node) -> ConstantTensor {
        // Clamped as the format specifies, for any numbers in the file.
        func bound(_ value: Int) -> Int {
            min(max(value < 0 ? max(value, -shape.count) + shape.count : value, 0), shape.count)
        }
        let start = bound(node.integer("start", 0))
        let end = max(start, bound(node.integer("end", shape.count)))
        let part = shape[start..<end]
        return ConstantTensor(shape: [part.count], integers: part.map(Int64.init))
    }

    private mutating func reshape(_ node: NetworkGraph.Node, to shape: [Int]) throws(ModelFormatError) {
        let value = try value(node, 0)
        guard let count = Extents.count(shape), count == Extents.count(self.shape(value)) else {
            throw failure(node, "shape \(self.shape(value)) does not fill \(shape)")
        }
        try emitReshaped(value, shape, node)
    }

    /// Names a value with another shape of as many elements.
    mutating func emitReshaped(
        _ value: Value,
        _ shape: [Int],
        _ node: NetworkGraph.Node
    ) throws(ModelFormatError) {
        switch value {
        case .constant(let tensor): try setOutput(of: node, to: .constant(tensor.reshaped(shape)))
        case .runtime(let index): try emit(.reshape, [index], shape: shape, node: node)
        }
    }

    /// Replaces the 0 (unchanged extent) and -1 (remaining extent) of a requested shape.
    private func resolve(_ wanted: [Int], of shape: [Int], _ node: NetworkGraph.Node) throws(ModelFormatError) -> [Int]
    {
        guard wanted.count <= 8 else { throw failure(node, "a shape of rank \(wanted.count)") }
        var result: [Int] = []
        var open: Int?
        for (axis, extent) in wanted.enumerated() {
            if extent == 0, node.integer("allowzero", 0) == 0 {
                guard axis < shape.count else { throw failure(node, "shape \(wanted) of \(shape)") }
                result.append(shape[axis])
            } else if extent == -1, open == nil {
                open = axis
                result.append(1)
            } else {
                result.append(extent)
            }
        }
        guard let known = Extents.count(result), let count = Extents.count(shape), known > 0 || open == nil else {
            throw failure(node, "shape \(wanted) of \(shape)")
        }
        if let open {
            guard count % known == 0 else { throw failure(node, "shape \(wanted) of \(shape)") }
            result[open] = count / known
        }
        return result
    }
}
