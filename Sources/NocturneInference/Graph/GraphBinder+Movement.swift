/// Operators that only move elements, without arithmetic.
extension GraphBinder {
    static let movementHandlers: [String: Handler] = [
        "Transpose": { binder, node throws(ModelFormatError) in
            let rank = binder.shape(try binder.value(node, 0)).count
            let order = try binder.axes(node.integers("perm") ?? Array((0..<rank).reversed()), rank: rank, node)
            guard order.count == rank else { throw binder.failure(node, "perm is not of rank \(rank)") }
            let axes = order.map { Operation.Move.Axis(input: $0, map: .line(start: 0, step: 1)) }
            let shape = binder.shape(try binder.value(node, 0))
            try binder.move(node, Operation.Move(axes: axes), shape: order.map { shape[$0] })
        },
        "Slice": { binder, node throws(ModelFormatError) in try binder.slice(node) },
        "Split": { binder, node throws(ModelFormatError) in try binder.split(node) },
        "Gather": { binder, node throws(ModelFormatError) in try binder.gather(node) },
        "Expand": { binder, node throws(ModelFormatError) in
            let shape = binder.shape(try binder.value(node, 0))
            guard let wanted = try binder.integers(node, 1), wanted.count <= 8,
                let result = Extents.broadcast(shape, wanted), Extents.count(result) != nil
            else { throw binder.failure(node, "a shape that \(shape) does not repeat to") }
            let missing = result.count - shape.count
            let axes = result.indices.map { axis -> Operation.Move.Axis in
                let repeats = axis < missing || shape[axis - missing] == 1
                return .init(input: repeats ? nil : axis - missing, map: .line(start: 0, step: 1))
            }
            try binder.move(node, Operation.Move(axes: axes), shape: result)
        },
        "Pad": { binder, node throws(ModelFormatError) in try binder.pad(node) },
        "Resize": { binder, node throws(ModelFormatError) in try binder.resize(node) },
        "Upsample": { binder, node throws(ModelFormatError) in try binder.resize(node) },
        "Concat": { binder, node throws(ModelFormatError) in try binder.concatenate(node) },
    ]

    /// Maximum length of an axis with an index table.
    static let maximumTableCount = 1 << 22

    /// Moves a constant at once, other values at run time.
    mutating func move(
        _ node: NetworkGraph.Node,
        _ parameters: Operation.Move,
        shape: [Int],
        output: Int = 0
    ) throws(ModelFormatError) {
        let value = try value(node, 0)
        if case .constant(let tensor) = value, let count = Extents.count(shape), count <= remainingElements {
            try reserveElements(count, title: node.title)
            let strides = Extents.strides(tensor.shape)
            // The place in the constant of every element of the result, extended axis by axis; -1 for filled ones.
            var places = count == 0 ? [] : [parameters.fixed.reduce(0) { $0 + strides[$1.key] * $1.value }]
            for (axis, extent) in zip(parameters.axes, shape) where count > 0 {
                let step = axis.input.map { strides[$0] } ?? 0
                var next: [Int] = []
                next.reserveCapacity(places.count * extent)
                for place in places {
                    for index in 0..<extent {
                        switch axis.map {
                        case .line(let start, let stride):
                            next.append(place < 0 ? -1 : place + (start + index * stride) * step)
                        case .table(let table):
                            next.append(place < 0 || table[index] < 0 ? -1 : place + table[index] * step)
                        }
                    }
                }
                places = next
            }
            let moved = tensor.gathered(shape: shape, from: places, fill: parameters.fill)
            return try setOutput(output, of: node, to: .constant(moved))
        }
        if Extents.count(shape) == 0 {
            // A part without elements is known; a concatenation leaves it out.
            return try setOutput(output, of: node, to: .constant(ConstantTensor(shape: shape, floats: [])))
        }
        let x = try materialised(value, title: node.title)
        try emit(.move(parameters), [x], shape: shape, node: node, output: output)
    }

    /// Starts, ends, axes and steps are inputs since operator set 10, attributes before.
    private mutating func slice(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        var shape = shape(try value(node, 0))
        guard let starts = try integers(node, 1) ?? node.integers("starts"),
            let ends = try integers(node, 2) ?? node.integers("ends"), starts.count == ends.count, starts.count <= 8
        else { throw failure(node, "starts and ends that do not match") }
        let given = try integers(node, 3) ?? node.integers("axes") ?? Array(starts.indices)
        let axes = try axes(given, rank: shape.count, node)
        let steps = try integers(node, 4) ?? [Int](repeating: 1, count: starts.count)
        guard axes.count == starts.count, steps.count == starts.count else {
            throw failure(node, "axes or steps that do not match")
        }
        var parameters = Operation.Move.identity(shape.count)
        for (index, axis) in axes.enumerated() {
            let extent = shape[axis]
            let step = steps[index]
            guard step != 0, abs(max(step, -Int.max)) <= Self.maximumExtent else {
                throw failure(node, "a step of \(step)")
            }
            // Negative numbers count from the end; numbers beyond the ends are clamped to them.
            func place(_ value: Int, _ low: Int, _ high: Int) -> Int {
                let counted = value < 0 ? max(value, -extent - 1) + extent : value
                return min(max(counted, low), high)
            }
            let start = step > 0 ? place(starts[index], 0, extent) : place(starts[index], 0, extent - 1)
            // With a negative step the end may be -1: one place before the first element.
            let end = step > 0 ? place(ends[index], 0, extent) : place(ends[index], -1, extent - 1)
            let count = step > 0 ? max(0, (end - start + step - 1) / step) : max(0, (start - end - step - 1) / -step)
            parameters.axes[axis].map = .line(start: start, step: step)
            shape[axis] = count
        }
        try move(node, parameters, shape: shape)
    }

    /// Sizes are an input since operator set 13, an attribute before.
    private mutating func split(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let shape = shape(try value(node, 0))
        let axis = try axis(node.integer("axis", 0), rank: shape.count, node)
        let parts = node.outputs.count
        guard parts > 0 else { throw failure(node, "it has no output") }
        var sizes = try integers(node, 1) ?? node.integers("split")
        if sizes == nil {
            // Equal parts; since operator set 18 the last one may be smaller.
            let size = (shape[axis] + parts - 1) / parts
            sizes = (0..<parts).map { min(size, shape[axis] - $0 * size) }
        }
        guard let sizes, sizes.count == parts, sizes.allSatisfy({ $0 > 0 && $0 <= shape[axis] }),
            sizes.reduce(0, +) == shape[axis]
        else { throw failure(node, "parts that do not add up to \(shape[axis])") }
        var start = 0
        for (index, size) in sizes.enumerated() {
            var parameters = Operation.Move.identity(shape.count)
            parameters.axes[axis].map = .line(start: start, step: 1)
            var part = shape
            part[axis] = size
            if !node.outputs[index].isEmpty { try move(node, parameters, shape: part, output: index) }
            start += size
        }
    }

    /// The indices must be constant: they become a table of the axis.
    private mutating func gather(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let shape = shape(try value(node, 0))
        let axis = try axis(node.integer("axis", 0), rank: shape.count, node)
        guard let indices = try constant(node, 1), let list = indices.integers, list.count <= Self.maximumTableCount
        else {
            throw failure(node, "indices that are not integers")
        }
        try reserveElements(list.count, title: node.title)
        // -1 is the last element. Numbers that are too low stay negative, and are refused.
        let places = list.map { $0 < 0 ? max($0, -shape[axis] - 1) + shape[axis] : $0 }
        guard places.allSatisfy({ $0 >= 0 && $0 < shape[axis] }) else {
            throw failure(node, "an index is out of range")
        }
        var parameters = Operation.Move.identity(shape.count)
        let result = Array(shape[..<axis]) + indices.shape + Array(shape[(axis + 1)...])
        // A single index removes the axis.
        if indices.shape.isEmpty {
            parameters.axes.remove(at: axis)
            parameters.fixed[axis] = places[0]
            try move(node, parameters, shape: result)
            return
        }
        parameters.axes[axis].map = .table(places)
        // The indices as one axis first, then in their own shape.
        var flat = shape
        flat[axis] = places.count
        try move(node, parameters, shape: flat)
        guard flat != result, let output = node.outputs.first, let moved = values[output] else { return }
        try emitReshaped(moved, result, node)
    }

    /// Pads are an input since operator set 11, an attribute before; negative ones cut away. Each padded axis gets a table.
    private mutating func pad(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        var shape = shape(try value(node, 0))
        let rank = shape.count
        guard let pads = try integers(node, 1) ?? node.integers("pads") else {
            throw failure(node, "there are no pads")
        }
        let axes = try axes(try integers(node, 3) ?? Array(0..<rank), rank: rank, node)
        let limit = Self.maximumTableCount
        guard pads.count == 2 * axes.count, pads.allSatisfy({ $0 >= -limit && $0 <= limit }) else {
            throw failure(node, "pads are \(pads.prefix(8))")
        }
        let mode = node.string("mode", "constant")
        var parameters = Operation.Move.identity(rank)
        parameters.fill = try constant(node, 2)?.floats.first ?? node.float("value", 0)
        for (index, axis) in axes.enumerated() where pads[index] != 0 || pads[index + axes.count] != 0 {
            let extent = shape[axis]
            let wide = extent + pads[index] + pads[index + axes.count]
            guard wide > 0, wide <= limit else { throw failure(node, "pads are \(pads.prefix(8))") }
            try reserveElements(wide, title: node.title)
            let table = try (0..<wide).map { place throws(ModelFormatError) -> Int in
                let source = place - pads[index]
                if source >= 0, source < extent { return source }
                switch mode {
                case "constant": return -1
                case "edge": return source < 0 ? 0 : extent - 1
                case "wrap": return ((source % extent) + extent) % extent
                case "reflect":
                    guard extent > 1 else { return 0 }
                    // Mirrored at the border elements, which are not repeated: the period is 2 (n - 1).
                    let period = 2 * (extent - 1)
                    let folded = ((source % period) + period) % period
                    return folded < extent ? folded : period - folded
                default: throw unsupported(node, "mode \(mode)")
                }
            }
            parameters.axes[axis].map = .table(table)
            shape[axis] = wide
        }
        try move(node, parameters, shape: shape)
    }

    /// Parts without elements are left out.
    private mutating func concatenate(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        var inputs: [Int] = []
        for index in node.inputs.indices {
            if case .constant(let tensor) = try value(node, index), tensor.count == 0 { continue }
            inputs.append(try operand(node, index))
        }
        guard let first = inputs.first else { throw failure(node, "there are no inputs") }
        var shape = bound.shapes[first]
        let axis = try axis(node.integer("axis", 1), rank: shape.count, node)
        for input in inputs.dropFirst() {
            let other = bound.shapes[input]
            guard other.count == shape.count, shape.indices.allSatisfy({ $0 == axis || other[$0] == shape[$0] }) else {
                throw failure(node, "parts of shapes \(shape) and \(other)")
            }
            shape[axis] += other[axis]
        }
        try emit(.concatenate(axis: axis), inputs, shape: shape, node: node)
    }
}
