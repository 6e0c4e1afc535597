/// The operator at the end of a network that makes probabilities of logits, by its ONNX name.
public enum FinalActivation: String, Sendable, Equatable {
    /// The logistic function of every value.
    case sigmoid = "Sigmoid"
    /// Of all classes together.
    case softmax = "Softmax"
}

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

extension LoadedNetwork {
    /// Why an activation cannot be applied to an output: the network ends in one; nil if it can.
    /// - Parameters:
    ///   - output: its name.
    ///   - file: of the network, for the text.
    ///   - applied: what comes after the network.
    ///   - setting: the setting of the package that leaves it out; nil where there is none.
    package func activationFault(
        of output: String?,
        in file: String,
        applied: FinalActivation,
        setting: String? = nil
    ) -> String? {
        guard let own = outputs.first(where: { $0.name == output })?.activation else { return nil }
        let then = own == applied ? "which Nocturne applies" : "to which Nocturne applies \(applied.rawValue)"
        return "\(file) ends in \(own.rawValue), \(then): export it without\(setting.map { ", or set \($0)" } ?? "")"
    }
}
