public import NocturneSystem

/// Why a network file, or a package that contains one, cannot be used. The text names the file and the reason.
public enum ModelFormatError: CodedError, Sendable, Equatable, CustomStringConvertible {
    /// The file cannot be read at all.
    case unreadable(path: String, reason: String)
    /// The content is invalid: truncated, inconsistent, or with impossible sizes.
    case malformed(path: String, reason: String)
    /// Weights are stored in a second file, of which a package states no digest: the results could change unnoticed.
    case externalData(path: String, tensor: String)
    /// All operators (or forms of operators) of the graph that the engine does not support, sorted.
    case unsupportedOperators([String])
    /// The graph does not match the shape it should be run with.
    case shapeMismatch(network: String, reason: String)
    /// A network computes values that are NaN or infinite from a synthetic patch.
    case notFinite(network: String)
    /// The engine does not offer the precision.
    case unsupportedPrecision(asked: InferencePrecision, offered: [InferencePrecision])

    /// The network of a package cannot be read, or no engine here runs it.
    public var faultCode: FaultCode { FaultCode("model", "networkUnusable") }

    /// For people: the file or network, and the reason.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): cannot be read: \(reason)"
        case .malformed(let path, let reason): "\(path): not a usable ONNX file: \(reason)"
        case .externalData(let path, let tensor):
            "\(path): the weights of '\(tensor)' are in another file, of which a package states no digest. Save a single "
                + "file: torch.onnx.export(…, external_data=False), or onnx.save(onnx.load(\"two.onnx\"), \"one.onnx\")"
        case .unsupportedOperators(let names):
            "operators that the builtin engine does not support: \(names.joined(separator: ", "))"
        case .shapeMismatch(let network, let reason): "\(network): \(reason)"
        case .notFinite(let network):
            "\(network): it returns NaN or infinite values for a synthetic patch; check its weights, and export it again"
        case .unsupportedPrecision(let asked, let offered):
            "precision \(asked.rawValue) is not offered by this engine; it offers "
                + offered.map(\.rawValue).joined(separator: ", ")
        }
    }
}
