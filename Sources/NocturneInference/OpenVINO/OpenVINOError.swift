public import NocturneSystem

/// Why OpenVINO cannot be used, or which step failed. Networks that it does not accept cause ``ModelFormatError``s.
public enum OpenVINOError: CodedError, Sendable, Equatable, CustomStringConvertible {
    /// No library was found in any of the locations.
    case notFound(lookedIn: [String])
    /// There is a library, but it cannot be loaded or lacks a required function.
    case unusableLibrary(path: String, reason: String)
    /// Forms of operators for which OpenVINO returns other values than ONNX specifies, sorted.
    case differs(network: String, forms: [String])
    /// A step with a network failed; the message is OpenVINO's own.
    case failed(network: String, step: String, message: String)

    public var faultCode: FaultCode { FaultCode("engine", "openvino") }

    public var description: String {
        switch self {
        case .notFound(let places):
            "OpenVINO was not found; searched: \(places.joined(separator: ", ")). "
                + "Tools/install-openvino installs it in the user's data folder; "
                + "NOCTURNE_OPENVINO specifies another location"
        case .unusableLibrary(let path, let reason): "\(path): OpenVINO cannot be used: \(reason)"
        case .differs(let network, let forms):
            "\(network): OpenVINO returns other values than ONNX specifies for \(forms.joined(separator: ", "))"
        case .failed(let network, let step, let message): "\(network): OpenVINO failed to \(step): \(message)"
        }
    }

    /// OpenVINO's message on one line, without the source code locations at its start.
    static func condensed(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("Exception from ") }
        let text = lines.joined(separator: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !text.isEmpty else { return "it gave no reason" }
        return text.count > 600 ? text.prefix(600) + " …" : text
    }
}
