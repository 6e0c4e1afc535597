internal import CNocturneKernels

/// Operators that find elements, or read and write at indices.
extension GraphBinder {
    static let selectionHandlers: [String: Handler] = [
        "ArgMax": { binder, node throws(ModelFormatError) in try binder.argument(node, smallest: false) },
        "ArgMin": { binder, node throws(ModelFormatError) in try binder.argument(node, smallest: true) },
        "TopK": { binder, node throws(ModelFormatError) in try binder.topK(node) },
        "CumSum": { binder, node throws(ModelFormatError) in
            let x = try binder.operand(node, 0)
            guard let given = try binder.integers(node, 1)?.first else {
                throw binder.failure(node, "there is no axis")
            }
            let axis = try binder.axis(given, rank: binder.bound.shapes[x].count, node)
            let function = Operation.AxisFunction.runningSum(
                exclusive: node.integer("exclusive", 0) != 0,
                reversed: node.integer("reverse", 0) != 0
            )
            try binder.emit(.alongAxes([axis], function), [x], shape: binder.bound.shapes[x], node: node)
        },
        "GatherElements": { binder, node throws(ModelFormatError) in try binder.elements(node, writes: false) },
        "GatherND": { binder, node throws(ModelFormatError) in try binder.slices(node, writes: false) },
        "ScatterND": { binder, node throws(ModelFormatError) in try binder.slices(node, writes: true) },
        "ScatterElements": { binder, node throws(ModelFormatError) in try binder.elements(node, writes: true) },
        "Tile": { binder, node throws(ModelFormatError) in try binder.tile(node) },
        "Trilu": { binder, node throws(ModelFormatError) in try binder.triangle(node) },
    ]

    /// Indices are float32 at run time, which holds whole numbers exactly up to this one.
    static let maximumIndex = 1 << 24

    private func checkExtent(_ extent: Int, _ node: NetworkGraph.Node) throws(ModelFormatError) {
        guard extent <= Self.maximumIndex else {
            throw failure(node, "an axis of \(extent) elements; indices are exact up to \(Self.maximumIndex)")
        }
    }

    private mutating func argument(_ node: NetworkGraph.Node, smallest: Bool) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        let axis = try axis(node.integer("axis", 0), rank: shape.count, node)
        try checkExtent(shape[axis], node)
        let last = node.integer("select_last_index", 0) != 0
        var kept = shape
        kept[axis] = 1
        let function = Operation.AxisFunction.argument(smallest: smallest, last: last)
        let found = try emit(.alongAxes([axis], function), [x], shape: kept, node: node)
        integerValues.insert(found)
        guard node.integer("keepdims", 1) == 0 else { return }
        var dropped = shape
        dropped.remove(at: axis)
        try emit(.reshape, [found], shape: dropped, node: node)
    }

    private mutating func topK(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        let axis = try axis(node.integer("axis", -1), rank: shape.count, node)
        guard let count = try integers(node, 1)?.first ?? (node.attributes["k"].map { _ in node.integer("k", 0) }),
            count > 0, count <= shape[axis]
        else { throw failure(node, "k is not a number from 1 to \(shape[axis])") }
        try checkExtent(shape[axis], node)
        var result = shape
        result[axis] = count
        for (output, name) in node.outputs.enumerated() where output < 2 && !name.isEmpty {
            let smallest = node.integer("largest", 1) == 0
            let function = Operation.AxisFunction.topK(count: count, smallest: smallest, indices: output == 1)
            let found = try emit(.alongAxes([axis], function), [x], shape: result, node: node, output: output)
            if output == 1 { integerValues.insert(found) }
        }
    }

    /// Checks constant indices, each for an axis with its own extent; those computed at run time are checked there.
    private func checkIndices(_ node: NetworkGraph.Node, extents: [Int]) throws(ModelFormatError) {
        for extent in extents { try checkExtent(extent, node) }
        guard case .constant(let tensor) = try value(node, 1) else { return }
        guard let list = tensor.integers else { throw failure(node, "indices that are not integers") }
        for (place, index) in list.enumerated() {
            let extent = extents[place % extents.count]
            guard index >= -extent, index < extent else {
                throw failure(node, "index \(index) is out of range for an axis of \(extent)")
            }
        }
    }

    /// Reads the elements at indices, or writes updates of the shape of the indices there.
    private mutating func elements(_ node: NetworkGraph.Node, writes: Bool) throws(ModelFormatError) {
        let (data, indices) = (shape(try value(node, 0)), shape(try value(node, 1)))
        let updates = writes ? shape(try value(node, 2)) : indices
        let axis = try axis(node.integer("axis", 0), rank: data.count, node)
        guard indices.count == data.count, indices == updates,
            data.indices.allSatisfy({ $0 == axis || indices[$0] <= data[$0] })
        else { throw failure(node, "indices of shape \(indices) for data of shape \(data)") }
        try checkIndices(node, extents: [data[axis]])
        let kind: Operation.Indexed =
            writes ? .scatterElements(axis: axis, try reduction(node)) : .gatherElements(axis: axis)
        try emit(.indexed(kind), try operands(node, writes ? 3 : 2), shape: writes ? data : indices, node: node)
    }

    private func reduction(_ node: NetworkGraph.Node) throws(ModelFormatError) -> Operation.Indexed.Reduction {
        let name = node.string("reduction", "none")
        guard let reduction = Operation.Indexed.Reduction(rawValue: name) else {
            throw unsupported(node, "reduction \(name)")
        }
        return reduction
    }

    /// Reads the slices that the last axis of the indices selects, or writes updates there.
    private mutating func slices(_ node: NetworkGraph.Node, writes: Bool) throws(ModelFormatError) {
        let (data, indices) = (shape(try value(node, 0)), shape(try value(node, 1)))
        let batch = writes ? 0 : node.integer("batch_dims", 0)
        guard writes || (0..<data.count).contains(batch) else {
            throw failure(node, "\(batch) batch axes of \(data)")
        }
        guard let depth = indices.last, depth > 0, batch + depth <= data.count, batch < indices.count,
            Array(data.prefix(batch)) == Array(indices.prefix(batch))
        else { throw failure(node, "indices of shape \(indices) for data of shape \(data)") }
        let extents = Array(data[batch..<batch + depth])
        let slices = Array(indices.dropLast() + data[(batch + depth)...])
        let updates = writes ? shape(try value(node, 2)) : slices
        guard updates == slices else {
            throw failure(node, "updates of shape \(updates) for indices of shape \(indices)")
        }
        try checkIndices(node, extents: extents)
        let kind: Operation.Indexed =
            writes
            ? .scatterSlices(extents: extents, try reduction(node)) : .gatherSlices(batch: batch, extents: extents)
        try emit(.indexed(kind), try operands(node, writes ? 3 : 2), shape: writes ? data : slices, node: node)
    }

    private mutating func tile(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        var shape = shape(try value(node, 0))
        guard let repeats = try integers(node, 1), repeats.count == shape.count,
            repeats.allSatisfy({ (1...Self.maximumTableCount).contains($0) })
        else { throw failure(node, "there is not one number of repeats, from 1, for each axis of \(shape)") }
        var parameters = Operation.Move.identity(shape.count)
        for axis in shape.indices where repeats[axis] > 1 {
            let (extent, overflow) = shape[axis].multipliedReportingOverflow(by: repeats[axis])
            guard !overflow, extent <= Self.maximumTableCount else {
                throw failure(node, "an axis of \(shape[axis]) elements repeated \(repeats[axis]) times")
            }
            if shape[axis] == 1 {
                parameters.axes[axis].input = nil
            } else {
                try reserveElements(extent, title: node.title)
                parameters.axes[axis].map = .table((0..<extent).map { $0 % shape[axis] })
            }
            shape[axis] = extent
        }
        try move(node, parameters, shape: shape)
    }

    private mutating func triangle(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard shape.count >= 2 else { throw failure(node, "an input of rank \(shape.count)") }
        let diagonal = try integers(node, 1)?.first ?? 0
        let upper = node.integer("upper", 1) != 0
        let (rows, columns) = (shape[shape.count - 2], shape[shape.count - 1])
        guard abs(max(diagonal, -Int.max)) <= Self.maximumExtent, let count = Extents.count([rows, columns]) else {
            throw failure(node, "diagonal \(diagonal)")
        }
        try reserveElements(count, title: node.title)
        let mask = (0..<count).map { place -> Float in
            let offset = place % columns - place / columns - diagonal
            return (upper ? offset >= 0 : offset <= 0) ? 1 : 0
        }
        let flags = try materialised(
            .constant(ConstantTensor(shape: [rows, columns], floats: mask)),
            title: node.title
        )
        try emitPair(NK_BINARY_WHERE_TRUE, (flags, x), node, last: true)
    }
}
