extension NetworkGraph {
    /// Operators that change the type or the shape of values, or bound them: probabilities remain probabilities.
    private static let keepingValues: Set<String> = [
        "Cast", "Clip", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze",
    ]

    /// The final activation of each value, by its name. Only casts, bounds and changes of shape may follow the activation.
    /// - Parameter nodes: each after those it depends on.
    /// - Complexity: one pass over the nodes, for any number of outputs.
    static func activations(in nodes: [Node]) -> [String: FinalActivation] {
        var ends: [String: FinalActivation] = [:]
        for node in nodes {
            var end = FinalActivation(rawValue: node.op)
            if end == nil, keepingValues.contains(node.op), let input = node.inputs.first { end = ends[input] }
            for output in node.outputs { ends[output] = end }
        }
        return ends
    }
}
