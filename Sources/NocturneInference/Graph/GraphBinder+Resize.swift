/// Resize and its predecessor Upsample: nearest and linear, with ONNX's ways of aligning one grid with the other.
///
/// Extents and positions are computed in float32, as in ONNX Runtime: in float64, 20 times the float32 number 0.7 would be below 14.
extension GraphBinder {
    mutating func resize(_ node: NetworkGraph.Node) throws(ModelFormatError) {
        let x = try operand(node, 0)
        let shape = bound.shapes[x]
        let mode = node.string("mode", "nearest")
        guard ["nearest", "linear"].contains(mode) else { throw unsupported(node, "mode \(mode)") }
        guard node.string("keep_aspect_ratio_policy", "stretch") == "stretch" else {
            throw unsupported(node, "keep_aspect_ratio_policy")
        }
        let (output, scales) = try target(node, shape)
        // Upsample and Resize of operator set 10 have no attributes for this.
        let isOld = node.op == "Upsample" || graph.opset < 11
        let grid = ResizeGrid(
            input: shape,
            output: output,
            scales: scales,
            coordinates: isOld ? "asymmetric" : node.string("coordinate_transformation_mode", "half_pixel"),
            rounding: isOld ? "floor" : node.string("nearest_mode", "round_prefer_floor")
        )
        guard output.allSatisfy({ $0 > 0 && $0 <= Self.maximumTableCount }) else {
            throw failure(node, "a result of shape \(output)")
        }
        // The tables of all axes.
        try reserveElements(output.reduce(0, +), title: node.title)
        if mode == "nearest" {
            var parameters = Operation.Move.identity(shape.count)
            for axis in shape.indices where !grid.isKept(axis) {
                guard let table = grid.nearest(axis) else { throw unsupported(node, grid.names) }
                parameters.axes[axis].map = .table(table)
            }
            try emit(.move(parameters), [x], shape: output, node: node)
            return
        }
        guard (3...5).contains(shape.count), output[0] == shape[0], output[1] == shape[1] else {
            throw unsupported(node, "linear over channels")
        }
        guard node.integer("antialias", 0) == 0 else { throw unsupported(node, "antialias") }
        let axes = try (2..<shape.count).map { axis throws(ModelFormatError) -> Operation.InterpolationAxis in
            guard let axis = grid.linear(axis) else { throw unsupported(node, "coordinates \(grid.coordinates)") }
            return axis
        }
        try emit(.interpolate(axes), [x], shape: output, node: node)
    }

    /// The output's shape, and the scale of each axis as used for the coordinates.
    private func target(_ node: NetworkGraph.Node, _ shape: [Int]) throws(ModelFormatError) -> ([Int], [Float]) {
        let isOld = node.op == "Upsample" || graph.opset < 11
        // Input 1 is a region of interest since operator set 11, which only an unsupported mode reads.
        var scales = try constant(node, isOld ? 1 : 2)?.floats
        if scales == nil, case .floats(let list)? = node.attributes["scales"] { scales = list }
        if scales?.isEmpty == true { scales = nil }
        var sizes = isOld ? nil : try integers(node, 3)
        if sizes?.isEmpty == true { sizes = nil }
        let axes = try axes(node.integers("axes") ?? Array(shape.indices), rank: shape.count, node)
        var output = shape
        var result = [Float](repeating: 1, count: shape.count)
        if let sizes {
            guard sizes.count == axes.count, sizes.allSatisfy({ $0 > 0 && $0 <= Self.maximumTableCount }) else {
                throw failure(node, "sizes are \(sizes.prefix(8))")
            }
            for (index, axis) in axes.enumerated() {
                output[axis] = sizes[index]
                result[axis] = Float(sizes[index]) / Float(shape[axis])
            }
        } else if let scales {
            guard scales.count == axes.count, scales.allSatisfy({ $0 > 0 && $0 <= 1e6 }) else {
                throw failure(node, "scales are \(scales.prefix(8))")
            }
            for (index, axis) in axes.enumerated() {
                // Rounded down, as the standard defines it.
                let extent = (Float(shape[axis]) * scales[index]).rounded(.down)
                guard extent <= Float(Self.maximumTableCount) else {
                    throw failure(node, "scales are \(scales.prefix(8))")
                }
                output[axis] = Int(extent)
                result[axis] = scales[index]
            }
        } else {
            throw failure(node, "neither scales nor sizes")
        }
        return (output, result)
    }
}

extension GraphBinder {
    /// How the positions of an output map to its input.
    private struct ResizeGrid {
        let input: [Int]
        let output: [Int]
        let scales: [Float]
        /// ONNX's `coordinate_transformation_mode`.
        let coordinates: String
        /// ONNX's `nearest_mode`.
        let rounding: String

        /// For messages about unknown modes.
        var names: String { place(0, 0) == nil ? "coordinates \(coordinates)" : "nearest_mode \(rounding)" }

        func isKept(_ axis: Int) -> Bool { output[axis] == input[axis] && scales[axis] == 1 }

        /// The position on the input; nil for unknown coordinates.
        private func place(_ index: Int, _ axis: Int) -> Float? {
            let (to, from, scale) = (Float(output[axis]), Float(input[axis]), scales[axis])
            let index = Float(index)
            switch coordinates {
            case "half_pixel": return (index + 0.5) / scale - 0.5
            case "pytorch_half_pixel": return to > 1 ? (index + 0.5) / scale - 0.5 : 0
            case "half_pixel_symmetric":
                let adjustment = to / (scale * from)
                return from / 2 * (1 - adjustment) + (index + 0.5) / scale - 0.5
            case "align_corners": return to > 1 ? index * (from - 1) / (to - 1) : 0
            case "asymmetric": return index / scale
            default: return nil
            }
        }

        /// The input position for each output position; nil for unknown modes.
        func nearest(_ axis: Int) -> [Int]? {
            var table: [Int] = []
            for index in 0..<output[axis] {
                guard let exact = place(index, axis), let rounded = rounded(Double(exact)) else { return nil }
                table.append(Int(min(max(rounded, 0), Double(input[axis] - 1))))
            }
            return table
        }

        private func rounded(_ exact: Double) -> Double? {
            switch rounding {
            // Halves go down: 0.5 becomes 0.
            case "round_prefer_floor": (exact - 0.5).rounded(.up)
            // Halves go up: 0.5 becomes 1.
            case "round_prefer_ceil": (exact + 0.5).rounded(.down)
            case "floor": exact.rounded(.down)
            case "ceil": exact.rounded(.up)
            default: nil
            }
        }

        /// The two neighbours of each position and the weight of the upper one; nil for unknown coordinates.
        func linear(_ axis: Int) -> Operation.InterpolationAxis? {
            var result = Operation.InterpolationAxis(low: [], high: [], weight: [])
            for index in 0..<output[axis] {
                guard let exact = isKept(axis) ? Float(index) : place(index, axis) else { return nil }
                let bounded = min(max(exact, 0), Float(input[axis] - 1))
                let low = Int(bounded)
                result.low.append(Int32(low))
                result.high.append(Int32(min(low + 1, input[axis] - 1)))
                result.weight.append(bounded - Float(low))
            }
            return result
        }
    }
}
