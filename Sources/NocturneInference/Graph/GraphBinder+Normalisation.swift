/// Normalisations, softmax and reductions.
extension GraphBinder {
    static let normalisationHandlers: [String: Handler] = [
        "InstanceNormalization": { binder, node throws(ModelFormatError) in
            let x = try binder.operand(node, 0)
            let shape = binder.bound.shapes[x]
            guard (3...5).contains(shape.count) else { throw binder.unsupported(node, "rank \(shape.count)") }
            try binder.normalise(node, x, groups: shape[1], perGroup: false)
        },
        "GroupNormalization": { binder, node throws(ModelFormatError) in
            let x = try binder.operand(node, 0)
            let shape = binder.bound.shapes[x]
            guard (3...5).contains(shape.count) else { throw binder.unsupported(node, "rank \(shape.count)") }
            let groups = node.integer("num_groups", 0)
            guard groups > 0, shape[1] % groups == 0 else {
                throw binder.failure(node, "\(groups) groups of \(shape[1]) channels")
            }
            // Up to operator set 20 there is one scale and shift per group.
            let scale = try binder.constant(node, 1)
            try binder.normalise(node, x, groups: groups, perGroup: scale?.count == groups && groups != shape[1])
        },
        "BatchNormalization": { binder, node throws(ModelFormatError) in try binder.batchNormalisation(node) },
        "Softmax": { binder, node throws(ModelFormatError) in try binder.softmax(node, logarithm: false) },
        "LogSoftmax": { binder, node throws(ModelFormatError) in try binder.softmax(node, logarithm: true) },
        "ReduceMean": { binder, node throws(ModelFormatError) in try binder.reduce(node, 0) },
        "ReduceSum": { binder, node throws(ModelFormatError) in try binder.reduce(node, 1) },
        "ReduceMax": { binder, node throws(ModelFormatError) in try binder.reduce(node, 2) },
        "ReduceMin": { binder, node throws(ModelFormatError) in try binder.reduce(node, 3) },
        "ReduceProd": { binder, node throws(ModelFormatError) in try binder.reduce(node, 4) },
        "ReduceL1": { binder, node throws(ModelFormatError) in try binder.reduce(node, 5) },
        "ReduceL2": { binder, node throws(ModelFormatError) in try binder.reduce(node, 6) },
        "ReduceSumSquare": { binder, node throws(ModelFormatError) in try binder.reduce(node, 7) },
    ]

    /// - Parameter perGroup: whether scale and shift have one value for each group, not for each channel.
    private mutating func normalise(
        _ node: NetworkGraph.Node,
        _ x: Int,
        groups: Int,
        perGroup: Bool
    ) throws(ModelFormatError) {
        let channels = bound.shapes[x][1]
        guard var scale = try constant(node, 1)?.floats, var shift = try constant(node, 2)?.floats else {
            throw failure(node, "scale or shift is missing")
        }
        if perGroup, shift.count == groups {
            let size = channels / groups
            scale = (0..<channels).map { scale[$0 / size] }
            shift = (0..<channels).map { shift[$0 / size] }
        }
        guard scale.count == channels, shift.count == channels else {
            throw failure(node, "\(scale.count) scales for \(channels) channels")
        }
        let parameters = Operation.Normalisation(
            groups: groups,
            scale: scale,
            shift: shift,
            epsilon: node.float("epsilon", 1e-5)
        )
        try emit(.normalise(parameters), [x], shape: bound.shapes[x], node: node)
    }

    /// Becomes a scale and a shift for each channel, which can be fused with the layer before it.
    private mutating func batchNormalisation(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        if case .constant = try value(node, 0), node.integer("training_mode", 0) != 0 {
            // The means and variances that it also takes are not used.
            let inputs = [try constant(node, 0), try constant(node, 1), try constant(node, 2)]
            let evaluator = ConstantEvaluator(graph: graph, node: node, inputs: inputs, maximumCount: remainingElements)
            let result = try evaluator.standardised()
            try reserveElements(result.count, title: node.title)
            return try setOutput(of: node, to: .constant(result))
        }
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard shape.count >= 2 else { throw failure(node, "an input of rank \(shape.count)") }
        guard node.integer("training_mode", 0) == 0 else { throw unsupported(node, "training") }
        var parameters: [[Float]] = []
        for index in 1...4 {
            guard let list = try constant(node, index)?.floats, list.count == shape[1] else {
                throw failure(node, "input \(index) does not have one value for each of \(shape[1]) channels")
            }
            parameters.append(list)
        }
        let epsilon = Double(node.float("epsilon", 1e-5))
        var scale: [Float] = []
        var shift: [Float] = []
        // In double precision: scale / sqrt(variance + epsilon), and shift - mean * that factor.
        for channel in 0..<shape[1] {
            let factor = Double(parameters[0][channel]) / (Double(parameters[3][channel]) + epsilon).squareRoot()
            scale.append(Float(factor))
            shift.append(Float(Double(parameters[1][channel]) - Double(parameters[2][channel]) * factor))
        }
        let affine = Operation.Kind.channelAffine(scale: scale, shift: shift, slope: 1)
        if (3...5).contains(shape.count) {
            try emit(affine, [x], shape: shape, node: node)
            return
        }
        // The operation needs spatial axes; a matrix gets one of extent 1 for it.
        guard shape.count == 2 else { throw unsupported(node, "rank \(shape.count)") }
        let wide = try append(.reshape, [x], shape: shape + [1], node: node)
        let done = try append(affine, [wide], shape: shape + [1], node: node)
        try emit(.reshape, [done], shape: shape, node: node)
    }

    private mutating func softmax(_ node: NetworkGraph.Node, logarithm: Bool) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard !shape.isEmpty else { throw failure(node, "a scalar") }
        // The default was 1 up to operator set 12, and is the last axis since 13.
        let axis = try axis(node.integer("axis", graph.opset >= 13 ? -1 : 1), rank: shape.count, node)
        if graph.opset >= 13 || axis == shape.count - 1 {
            try emit(.alongAxes([axis], .softmax(logarithm: logarithm)), [x], shape: shape, node: node)
            return
        }
        // Before operator set 13 all axes from the given one on are treated as one.
        let flat = [shape[..<axis].reduce(1, *), shape[axis...].reduce(1, *)]
        let matrix = try append(.reshape, [x], shape: flat, node: node)
        let done = try append(.alongAxes([1], .softmax(logarithm: logarithm)), [matrix], shape: flat, node: node)
        try emit(.reshape, [done], shape: shape, node: node)
    }

    /// Axes are an input since operator sets 13 (sums) and 18 (the others), an attribute before.
    private mutating func reduce(_ node: NetworkGraph.Node, _ kind: Int32) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        let rank = shape.count
        let given = try integers(node, 1) ?? node.integers("axes") ?? []
        if given.isEmpty, node.integer("noop_with_empty_axes", 0) != 0 {
            try pass(node)
            return
        }
        let axes = given.isEmpty ? Array(0..<rank) : try axes(given, rank: rank, node).sorted()
        let kept = shape.indices.map { axes.contains($0) ? 1 : shape[$0] }
        // Means over all spatial axes can share the sums of a normalisation.
        let isChannelMeans = kind == 0 && (3...5).contains(rank) && axes == Array(2..<rank)
        let operation: Operation.Kind = isChannelMeans ? .channelMeans : .alongAxes(axes, .reduce(kind))
        if node.integer("keepdims", 1) != 0 {
            try emit(operation, [x], shape: kept, node: node)
        } else {
            let reduced = try append(operation, [x], shape: kept, node: node)
            let dropped = shape.indices.filter { !axes.contains($0) }.map { shape[$0] }
            try emit(.reshape, [reduced], shape: dropped, node: node)
        }
    }
}
