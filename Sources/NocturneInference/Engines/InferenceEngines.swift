/// The engines for `--engine`, and the selection among them.
public struct InferenceEngines: Sendable {
    /// In the order in which `auto` tries them.
    public let kinds: [any InferenceEngineKind]

    public init(_ kinds: [any InferenceEngineKind]) { self.kinds = kinds }

    public static let all = InferenceEngines([
        BuiltinEngineKind(),
        OpenVINOEngineKind(),
    ])

    /// The value of `--engine` that leaves the choice to Nocturne.
    public static let automatic = "auto"

    /// All values of `--engine`: `auto`, then the engines.
    public var names: [String] { [Self.automatic] + kinds.map(\.name) }

    public func named(_ name: String) -> (any InferenceEngineKind)? { kinds.first { $0.name == name } }

    /// The engine for these networks.
    ///
    /// `auto` selects the first engine that is available, offers the precision, and supports all the networks. It reads
    /// every network once (which temporarily needs the file's size in memory). An engine selected by name is not
    /// checked in advance: unsupported operators are reported when the network is loaded.
    /// - Parameters:
    ///   - name: one of ``names``.
    ///   - networks: paths of ONNX files.
    ///   - precision: the precision to run them with.
    ///   - environment: where engines look for their libraries; see ``OpenVINOEngine/init(environment:)``.
    /// - Throws: ``EngineChoiceError`` when `auto` finds none, or there is no engine of this name; the engine's own
    ///   error when it is not available; ``ModelFormatError`` for files that are not networks.
    public func engine(
        named name: String,
        for networks: [String],
        precision: InferencePrecision = .float32,
        environment: [String: String]
    ) throws -> any InferenceEngine {
        if let kind = named(name) { return try kind.make(environment: environment) }
        guard name == Self.automatic else { throw EngineChoiceError.unknownName(name, known: names) }
        var refusals: [EngineChoiceError.Refusal] = []
        for kind in kinds {
            let engine: any InferenceEngine
            do {
                engine = try kind.make(environment: environment)
            } catch {
                refusals.append(.init(engine: kind.name, reason: "is not available: \(error)"))
                continue
            }
            guard let reason = try refusal(of: engine, networks, precision) else { return engine }
            refusals.append(reason)
        }
        throw EngineChoiceError.noEngine(refusals)
    }

    /// Why an engine cannot run all of the networks; nil when it can, as far as is known before they are loaded.
    private func refusal(
        of engine: any InferenceEngine,
        _ networks: [String],
        _ precision: InferencePrecision
    ) throws -> EngineChoiceError.Refusal? {
        guard engine.precisions.contains(precision) else {
            return .init(engine: engine.name, reason: "does not offer \(precision.rawValue) on this processor")
        }
        for network in networks {
            guard let feature = try engine.missingFeature(for: network) else { continue }
            return .init(engine: engine.name, network: network, reason: feature)
        }
        return nil
    }
}

/// No engine can run the networks.
public enum EngineChoiceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Why one engine was not chosen.
    public struct Refusal: Sendable, Equatable {
        public let engine: String
        /// The network that it cannot run, if it is a single one.
        public let network: String?
        /// Text that completes "the builtin engine …".
        public let reason: String

        public init(engine: String, network: String? = nil, reason: String) {
            self.engine = engine
            self.network = network
            self.reason = reason
        }
    }

    case unknownName(String, known: [String])
    /// In the order of the registry.
    case noEngine([Refusal])

    public var description: String {
        switch self {
        case .unknownName(let name, let known):
            "there is no engine \(name); the engines are \(known.joined(separator: ", "))"
        case .noEngine(let refusals):
            (refusals.lazy.compactMap(\.network).first.map { "\($0): " } ?? "")
                + refusals.map { "the \($0.engine) engine \($0.reason)" }.joined(separator: "; ")
        }
    }
}
