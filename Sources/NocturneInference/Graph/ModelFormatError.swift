import NocturneSystem

/// Why a network file, or a package around one, cannot be used. The text names the file and the fact.
public enum ModelFormatError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file cannot be read at all.
    case unreadable(path: String, reason: String)
    /// The file is not what it says: truncated, inconsistent, or with sizes that cannot be.
    case malformed(path: String, reason: String)
    /// Weights in a second file, which this reader does not follow.
    case externalData(path: String, tensor: String)
    /// Every operator (or form of one) of the graph that the engine has not got, sorted.
    case unsupportedOperators([String])
    /// The graph does not fit the shape it is to be run with.
    case shapeMismatch(network: String, reason: String)
    /// The engine does not offer the precision.
    case unsupportedPrecision(asked: InferencePrecision, offered: [InferencePrecision])

    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): cannot be read: \(reason)"
        case .malformed(let path, let reason): "\(path): not a usable ONNX file: \(reason)"
        case .externalData(let path, let tensor):
            "\(path): the weights of '\(tensor)' lie in another file; save the model as a single file"
        case .unsupportedOperators(let names):
            "operators that the builtin engine has not got: \(names.joined(separator: ", "))"
        case .shapeMismatch(let network, let reason): "\(network): \(reason)"
        case .unsupportedPrecision(let asked, let offered):
            "precision \(asked.rawValue) is not offered by this engine; it offers "
                + offered.map(\.rawValue).joined(separator: ", ")
        }
    }
}
