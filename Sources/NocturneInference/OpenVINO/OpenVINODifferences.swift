/// Forms of operators whose values from OpenVINO were seen to be others than ONNX Runtime's, the builtin engine's and
/// the standard's (2024.6 and 2026.4). A network with one is refused: a wrong label map is worse than none.
enum OpenVINODifferences {
    static func forms(in graph: NetworkGraph) -> [String] {
        var found: Set<String> = []
        for node in graph.nodes {
            switch node.op {
            case "ConvTranspose":
                // The padding that follows from the shape is put on the other side.
                if let shape = node.integers("output_shape"), !shape.isEmpty {
                    found.insert("ConvTranspose (output_shape)")
                }
            case "Softmax", "LogSoftmax", "Hardmax":
                // Before operator set 13 all axes from this one on are one; only the last alone is the same since.
                if graph.opset < 13, node.integer("axis", 1) != -1 {
                    found.insert("\(node.op) (operator set \(graph.opset), axis \(node.integer("axis", 1)))")
                }
            default: break
            }
        }
        if outputsAnInput(graph) { found.insert("an output that is an input unchanged") }
        return found.sorted()
    }

    /// OpenVINO leaves the caller's buffer of such an output as it was.
    private static func outputsAnInput(_ graph: NetworkGraph) -> Bool {
        // In running order, so that chains are followed.
        var unchanged = Set(graph.inputs.map(\.name))
        for node in graph.nodes where ["Identity", "Dropout"].contains(node.op) {
            if let input = node.inputs.first, unchanged.contains(input), let output = node.outputs.first {
                unchanged.insert(output)
            }
        }
        return graph.outputs.contains { unchanged.contains($0.name) }
    }
}
