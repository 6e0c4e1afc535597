/// Convolution, its transpose, and pooling.
extension GraphBinder {
    static let windowHandlers: [String: Handler] = [
        "Conv": { binder, node throws(ModelFormatError) in try binder.convolution(node, transposed: false) },
        "ConvTranspose": { binder, node throws(ModelFormatError) in try binder.convolution(node, transposed: true) },
        "MaxPool": { binder, node throws(ModelFormatError) in try binder.pool(node, maximum: true) },
        "AveragePool": { binder, node throws(ModelFormatError) in try binder.pool(node, maximum: false) },
        "GlobalAveragePool": { binder, node throws(ModelFormatError) in
            let x = try binder.operand(node, 0)
            let shape = binder.bound.shapes[x]
            guard shape.count >= 3, shape.count <= 5 else { throw binder.unsupported(node, "rank \(shape.count)") }
            let means = Array(shape.prefix(2)) + [Int](repeating: 1, count: shape.count - 2)
            try binder.emit(.channelMeans, [x], shape: means, node: node)
        },
    ]

    private struct Window {
        var kernel: [Int]
        var stride: [Int]
        var dilation: [Int]
        var before: [Int]
        /// Not of a transposed convolution.
        var after: [Int]
    }

    /// A list attribute of `count` numbers within the limits.
    private func list(
        _ node: NetworkGraph.Node,
        _ key: String,
        count: Int,
        fallback: Int,
        in bounds: ClosedRange<Int>
    ) throws(ModelFormatError) -> [Int] {
        guard let list = node.integers(key) else { return [Int](repeating: fallback, count: count) }
        guard list.count == count, list.allSatisfy(bounds.contains) else {
            throw failure(node, "\(key) is \(list.prefix(8))")
        }
        return list
    }

    /// Strides, dilations and padding of a convolution or pooling, from the attributes or from auto_pad.
    /// - Parameter input: the spatial extents, which SAME needs.
    private func window(_ node: NetworkGraph.Node, kernel: [Int], input: [Int]) throws(ModelFormatError) -> Window {
        let rank = kernel.count
        let stride = try list(node, "strides", count: rank, fallback: 1, in: 1...65_536)
        let dilation = try list(node, "dilations", count: rank, fallback: 1, in: 1...65_536)
        guard kernel.allSatisfy({ (1...65_536).contains($0) }) else { throw failure(node, "a kernel of \(kernel)") }
        var window = Window(
            kernel: kernel,
            stride: stride,
            dilation: dilation,
            before: [Int](repeating: 0, count: rank),
            after: [Int](repeating: 0, count: rank)
        )
        switch node.string("auto_pad", "NOTSET") {
        case "NOTSET", "":
            let pads = try list(node, "pads", count: 2 * rank, fallback: 0, in: -65_536...65_536)
            window.before = Array(pads.prefix(rank))
            window.after = Array(pads.suffix(rank))
        case "VALID": break
        case "SAME_UPPER", "SAME_LOWER":
            let upper = node.string("auto_pad", "") == "SAME_UPPER"
            for axis in 0..<rank {
                // SAME: ceil(input / stride) positions. An odd voxel of padding is at the end for SAME_UPPER, at the start for
                // SAME_LOWER.
                let output = (input[axis] + stride[axis] - 1) / stride[axis]
                let total = max(0, (output - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1 - input[axis])
                window.before[axis] = upper ? total / 2 : total - total / 2
                window.after[axis] = total - window.before[axis]
            }
        case let other: throw failure(node, "auto_pad is '\(other)'")
        }
        return window
    }

    /// The constant weights and bias of a convolution, and its number of groups.
    private mutating func weights(
        _ node: NetworkGraph.Node,
        rank: Int
    ) throws(ModelFormatError) -> (weights: ConstantTensor, bias: [Float]?, groups: Int) {
        guard let weights = try constant(node, 1) else { throw failure(node, "there are no weights") }
        guard weights.shape.count == rank, weights.count > 0 else {
            throw failure(node, "weights of shape \(weights.shape) for an input of rank \(rank)")
        }
        if let kernel = node.integers("kernel_shape"), kernel != Array(weights.shape.dropFirst(2)) {
            throw failure(node, "kernel_shape is \(kernel.prefix(8)), the weights are \(weights.shape)")
        }
        let groups = node.integer("group", 1)
        guard groups >= 1, groups <= 1 << 20 else { throw failure(node, "\(groups) groups") }
        // The weights are packed again for each use.
        try reserveElements(weights.count, title: node.title)
        return (weights, try constant(node, 2)?.floats, groups)
    }

    /// Weights are [cout][cin / groups][kernel], and [cin][cout / groups][kernel] of a transposed convolution.
    private mutating func convolution(_ node: NetworkGraph.Node, transposed: Bool) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard (3...5).contains(shape.count) else { throw unsupported(node, "rank \(shape.count)") }
        let (weights, bias, groups) = try weights(node, rank: shape.count)
        let (rows, columns) = (weights.shape[0], weights.shape[1] * groups)
        let (cin, cout) = transposed ? (rows, columns) : (columns, rows)
        guard cin == shape[1], rows % groups == 0, bias == nil || bias?.count == cout else {
            throw failure(node, "weights of shape \(weights.shape) in \(groups) groups for an input of shape \(shape)")
        }
        let (space, kernel) = (Array(shape.dropFirst(2)), Array(weights.shape.dropFirst(2)))
        let (window, extents) =
            transposed
            ? try transposedWindow(node, kernel: kernel, input: space, shape)
            : try forwardWindow(node, kernel: kernel, input: space, shape)
        let parameters = Operation.Convolution(
            weights: weights.floats,
            bias: bias,
            kernel: kernel,
            stride: window.stride,
            padBefore: window.before,
            dilation: window.dilation,
            groups: groups,
            inputChannels: shape[1],
            outputChannels: cout,
            transposed: transposed
        )
        try emit(.convolution(parameters), [x], shape: [shape[0], cout] + extents, node: node)
    }

    /// The window, and the spatial extents of the result.
    private func forwardWindow(
        _ node: NetworkGraph.Node,
        kernel: [Int],
        input space: [Int],
        _ shape: [Int]
    ) throws(ModelFormatError) -> (Window, extents: [Int]) {
        let window = try window(node, kernel: kernel, input: space)
        let extents = try space.indices.map { axis throws(ModelFormatError) -> Int in
            // Voxels from the first to the last tap.
            let reach = window.dilation[axis] * (window.kernel[axis] - 1) + 1
            let free = space[axis] + window.before[axis] + window.after[axis] - reach
            guard free >= 0 else { throw failure(node, "the kernel is larger than the input \(shape)") }
            return free / window.stride[axis] + 1
        }
        return (window, extents)
    }

    /// Padding is taken away from the result here, and may be asked for by the result's shape.
    private func transposedWindow(
        _ node: NetworkGraph.Node,
        kernel: [Int],
        input space: [Int],
        _ shape: [Int]
    ) throws(ModelFormatError) -> (Window, extents: [Int]) {
        let rank = space.count
        let stride = try list(node, "strides", count: rank, fallback: 1, in: 1...65_536)
        let dilation = try list(node, "dilations", count: rank, fallback: 1, in: 1...65_536)
        let extra = try list(node, "output_padding", count: rank, fallback: 0, in: 0...65_536)
        let pads = try list(node, "pads", count: 2 * rank, fallback: 0, in: -65_536...65_536)
        let mode = node.string("auto_pad", "NOTSET")
        let asked = node.integers("output_shape")
        if let asked, asked.count != rank || !asked.allSatisfy({ (1...Self.maximumExtent).contains($0) }) {
            throw failure(node, "output_shape is \(asked.prefix(8))")
        }
        var before: [Int] = []
        var extents: [Int] = []
        for axis in 0..<rank {
            // The extent without padding. An output_shape, and SAME, determine how much of it is cut off.
            let full = stride[axis] * (space[axis] - 1) + extra[axis] + dilation[axis] * (kernel[axis] - 1) + 1
            if asked != nil || mode.hasPrefix("SAME") {
                let extent = asked?[axis] ?? space[axis] * stride[axis]
                let total = max(0, full - extent)
                before.append(mode == "SAME_UPPER" ? total / 2 : total - total / 2)
                extents.append(extent)
            } else if mode == "VALID" {
                before.append(0)
                extents.append(full)
            } else {
                before.append(pads[axis])
                extents.append(full - pads[axis] - pads[axis + rank])
            }
        }
        guard extents.allSatisfy({ $0 > 0 }) else {
            throw failure(node, "nothing is left of an input of shape \(shape)")
        }
        return (Window(kernel: kernel, stride: stride, dilation: dilation, before: before, after: []), extents)
    }

    /// - Parameter maximum: maxima; otherwise averages, with or without the padding according to `count_include_pad`.
    private mutating func pool(_ node: NetworkGraph.Node, maximum: Bool) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        guard (3...5).contains(shape.count) else { throw unsupported(node, "rank \(shape.count)") }
        guard node.outputs.count == 1 || node.outputs[1].isEmpty else { throw unsupported(node, "indices") }
        let space = Array(shape.dropFirst(2))
        guard let kernel = node.integers("kernel_shape"), kernel.count == space.count else {
            throw failure(node, "there is no kernel_shape of rank \(space.count)")
        }
        let window = try window(node, kernel: kernel, input: space)
        let up = node.integer("ceil_mode", 0) != 0
        var extents: [Int] = []
        for axis in space.indices {
            let reach = window.dilation[axis] * (kernel[axis] - 1) + 1
            guard window.before[axis] >= 0, window.after[axis] >= 0, window.before[axis] < reach else {
                throw failure(node, "padding that does not match the kernel")
            }
            let free = space[axis] + window.before[axis] + window.after[axis] - reach
            guard free >= 0 else { throw failure(node, "the kernel is larger than the input \(shape)") }
            var extent = (up ? (free + window.stride[axis] - 1) / window.stride[axis] : free / window.stride[axis]) + 1
            // A window that starts beyond the input and the padding before it would be empty.
            if up, (extent - 1) * window.stride[axis] >= space[axis] + window.before[axis] { extent -= 1 }
            extents.append(extent)
        }
        let parameters = Operation.Pool(
            kernel: kernel,
            stride: window.stride,
            padBefore: window.before,
            padded: space.indices.map { space[$0] + window.before[$0] + window.after[$0] },
            dilation: window.dilation,
            mode: maximum ? 0 : (node.integer("count_include_pad", 0) != 0 ? 2 : 1)
        )
        try emit(.pool(parameters), [x], shape: Array(shape.prefix(2)) + extents, node: node)
    }
}
