/// Forms of operators for which OpenVINO was observed to return other values than ONNX Runtime, the builtin engine and
/// the standard (2024.6 and 2026.4). A network that contains one is refused: a wrong label map is worse than none.
enum OpenVINODifferences {
    static func forms(in graph: NetworkGraph) -> [String] {
        var found: Set<String> = []
        for node in graph.nodes {
            switch node.op {
            case "ConvTranspose":
                // The padding implied by the shape is added on the other side.
                if let shape = node.integers("output_shape"), !shape.isEmpty {
                    found.insert("ConvTranspose (output_shape)")
                }
            case "Softmax", "LogSoftmax", "Hardmax":
                // Before operator set 13 all axes from this one on are treated as one; only for the last axis alone is
                // the meaning unchanged.
                if graph.opset < 13, node.integer("axis", 1) != -1 {
                    found.insert("\(node.op) (operator set \(graph.opset), axis \(node.integer("axis", 1)))")
                }
            default: break
            }
        }
        if outputsAnInput(graph) { found.insert("an output that is an input unchanged") }
        return found.sorted()
    }

    /// OpenVINO leaves the caller's buffer of such an output unchanged.
    private static func outputsAnInput(_ graph: NetworkGraph) -> Bool {
        // In execution order, so that chains are followed.
        var unchanged = Set(graph.inputs.map(\.name))
        for node in graph.nodes where ["Identity", "Dropout"].contains(node.op) {
            if let input = node.inputs.first, unchanged.contains(input), let output = node.outputs.first {
                unchanged.insert(output)
            }
        }
        return graph.outputs.contains { unchanged.contains($0.name) }
    }
}
