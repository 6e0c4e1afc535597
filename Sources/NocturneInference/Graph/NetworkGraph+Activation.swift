extension NetworkGraph {
    /// Operators that change the type or the shape of values, but not the values.
    private static let keepingValues: Set<String> = [
        "Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze",
    ]

    /// The activation at the end of an output, if nothing but casts and changes of shape follows it.
    /// - Parameter nodes: each after those it depends on.
    static func activation(of output: String, in nodes: [Node]) -> FinalActivation? {
        var wanted = output
        for node in nodes.reversed() where node.outputs.contains(wanted) {
            if let found = FinalActivation(rawValue: node.op) { return found }
            guard keepingValues.contains(node.op), let input = node.inputs.first else { return nil }
            wanted = input
        }
        return nil
    }
}
