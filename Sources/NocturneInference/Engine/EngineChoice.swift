/// Which engine runs a network.
public enum EngineChoice: String, Codable, Sendable, CaseIterable {
    /// ``builtin`` when it has everything the networks need, else ``openvino``.
    case auto
    case builtin
    case openvino

    /// The engine for these networks.
    ///
    /// `auto` reads every network once (the file's size in memory for a moment); a named engine is not asked whether it
    /// takes them, which loading says.
    /// - Parameters:
    ///   - networks: paths of ONNX files.
    ///   - precision: what they are to be run with.
    ///   - environment: where OpenVINO is looked for; see ``OpenVINOEngine/init(environment:)``.
    /// - Throws: ``OpenVINOError`` when `openvino` is asked for and cannot be had, ``EngineChoiceError`` when `auto`
    ///   finds none, ``ModelFormatError`` for files that are not networks.
    public static func engine(
        named choice: EngineChoice,
        for networks: [String],
        precision: InferencePrecision = .float32,
        environment: [String: String]
    ) throws -> any InferenceEngine {
        switch choice {
        case .builtin: return BuiltinEngine()
        case .openvino: return try OpenVINOEngine(environment: environment)
        case .auto:
            guard let (network, lack) = try builtinLack(networks, precision) else { return BuiltinEngine() }
            do {
                let engine = try OpenVINOEngine(environment: environment)
                guard engine.precisions.contains(precision) else {
                    throw EngineChoiceError(
                        network: network,
                        lack: lack,
                        other: "OpenVINO \(engine.version) does not offer \(precision.rawValue) on this processor"
                    )
                }
                return engine
            } catch let error as OpenVINOError {
                throw EngineChoiceError(network: network, lack: lack, other: "\(error)")
            }
        }
    }

    /// The first network that the builtin engine cannot run, and why.
    private static func builtinLack(
        _ networks: [String],
        _ precision: InferencePrecision
    ) throws(ModelFormatError) -> (network: String, lack: String)? {
        if let network = networks.first, !BuiltinEngine.precisions.contains(precision) {
            return (network, "does not offer \(precision.rawValue)")
        }
        for network in networks {
            do {
                let missing = GraphBinder.unsupportedOperators(try ONNXReader.read(network))
                if !missing.isEmpty { return (network, "has not got \(missing.joined(separator: ", "))") }
            } catch ModelFormatError.externalData {
                return (network, "does not follow weights into other files")
            }
        }
        return nil
    }
}

/// No engine that is there can run a network.
public struct EngineChoiceError: Error, Sendable, Equatable, CustomStringConvertible {
    public let network: String
    /// What the builtin engine lacks.
    public let lack: String
    /// Why the other engine does not help.
    public let other: String

    public var description: String {
        "\(network): the builtin engine \(lack); the openvino engine is the one to use: \(other)"
    }
}
