/// Resize and its predecessor Upsample: nearest and linear, with ONNX's ways of placing one grid on the other.
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
        let isOld = node.op == "Upsample" || graph.opset < 11
        let coordinates = isOld ? "asymmetric" : node.string("coordinate_transformation_mode", "half_pixel")
        let rounding = isOld ? "floor" : node.string("nearest_mode", "round_prefer_floor")
        guard output.allSatisfy({ $0 > 0 && $0 <= Self.largestTable }) else {
            throw failure(node, "a result of shape \(output)")
        }
        try spend(output.reduce(0, +), title: node.title)
        func place(_ index: Int, _ axis: Int) throws(ModelFormatError) -> Double {
            let (to, from, scale) = (Double(output[axis]), Double(shape[axis]), scales[axis])
            switch coordinates {
            case "half_pixel": return (Double(index) + 0.5) / scale - 0.5
            case "pytorch_half_pixel": return to > 1 ? (Double(index) + 0.5) / scale - 0.5 : 0
            case "half_pixel_symmetric":
                let adjustment = to / (scale * from)
                return from / 2 * (1 - adjustment) + (Double(index) + 0.5) / scale - 0.5
            case "align_corners": return to > 1 ? Double(index) * (from - 1) / (to - 1) : 0
            case "asymmetric": return Double(index) / scale
            default: throw unsupported(node, "coordinates \(coordinates)")
            }
        }
        if mode == "nearest" {
            var parameters = MoveParameters.identity(shape.count)
            for axis in shape.indices where output[axis] != shape[axis] || scales[axis] != 1 {
                let table = try (0..<output[axis]).map { index throws(ModelFormatError) -> Int in
                    let exact = try place(index, axis)
                    let rounded: Double
                    switch rounding {
                    case "round_prefer_floor": rounded = (exact - 0.5).rounded(.up)
                    case "round_prefer_ceil": rounded = (exact + 0.5).rounded(.down)
                    case "floor": rounded = exact.rounded(.down)
                    case "ceil": rounded = exact.rounded(.up)
                    default: throw unsupported(node, "nearest_mode \(rounding)")
                    }
                    return Int(min(max(rounded, 0), Double(shape[axis] - 1)))
                }
                parameters.axes[axis].map = .table(table)
            }
            try emit(.move(parameters), [x], shape: output, node: node)
            return
        }
        guard (3...5).contains(shape.count), output[0] == shape[0], output[1] == shape[1] else {
            throw unsupported(node, "linear over channels")
        }
        guard node.integer("antialias", 0) == 0 else { throw unsupported(node, "antialias") }
        let axes = try (2..<shape.count).map { axis throws(ModelFormatError) -> InterpolationAxis in
            var result = InterpolationAxis(low: [], high: [], weight: [])
            for index in 0..<output[axis] {
                let exact = output[axis] == shape[axis] && scales[axis] == 1 ? Double(index) : try place(index, axis)
                let bounded = min(max(exact, 0), Double(shape[axis] - 1))
                let low = Int(bounded)
                result.low.append(Int32(low))
                result.high.append(Int32(min(low + 1, shape[axis] - 1)))
                result.weight.append(Float(bounded - Double(low)))
            }
            return result
        }
        try emit(.interpolate(axes), [x], shape: output, node: node)
    }

    /// The output's shape, and the scale of each axis as the coordinates want it.
    private func target(_ node: NetworkGraph.Node, _ shape: [Int]) throws(ModelFormatError) -> ([Int], [Double]) {
        let isOld = node.op == "Upsample" || graph.opset < 11
        var scales = try constant(node, isOld ? 1 : 2)?.floats.map(Double.init)
        if scales == nil, case .floats(let list)? = node.attributes["scales"] { scales = list.map(Double.init) }
        if scales?.isEmpty == true { scales = nil }
        var sizes = isOld ? nil : try integers(node, 3)
        if sizes?.isEmpty == true { sizes = nil }
        let axes = try axes(node.integers("axes") ?? Array(shape.indices), rank: shape.count, node)
        var output = shape
        var result = [Double](repeating: 1, count: shape.count)
        if let sizes {
            guard sizes.count == axes.count, sizes.allSatisfy({ $0 > 0 && $0 <= Self.largestTable }) else {
                throw failure(node, "sizes are \(sizes.prefix(8))")
            }
            for (index, axis) in axes.enumerated() {
                output[axis] = sizes[index]
                result[axis] = Double(sizes[index]) / Double(shape[axis])
            }
        } else if let scales {
            guard scales.count == axes.count, scales.allSatisfy({ $0 > 0 && $0 <= 1e6 }) else {
                throw failure(node, "scales are \(scales.prefix(8))")
            }
            for (index, axis) in axes.enumerated() {
                let extent = (Double(shape[axis]) * scales[index]).rounded(.down)
                guard extent <= Double(Self.largestTable) else { throw failure(node, "scales are \(scales.prefix(8))") }
                output[axis] = Int(extent)
                result[axis] = scales[index]
            }
        } else {
            throw failure(node, "neither scales nor sizes")
        }
        return (output, result)
    }
}
