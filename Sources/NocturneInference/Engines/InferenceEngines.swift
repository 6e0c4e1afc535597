/// The engines for `--engine`, and the selection among them.
public struct InferenceEngines: Sendable {
    /// In the order in which `auto` tries them.
    public let kinds: [InferenceEngineKind]

    /// - Parameter kinds: with unique names, in the order in which `auto` tries them.
    public init(_ kinds: [InferenceEngineKind]) { self.kinds = kinds }

    /// The engines of this program.
    public static let all = InferenceEngines([BuiltinEngine.kind, ONNXRuntimeEngine.kind])

    /// The value of `--engine` that leaves the choice to Nocturne.
    public static let automatic = "auto"

    /// All values of `--engine`: `auto`, then the engines.
    public var names: [String] { [Self.automatic] + kinds.map(\.name) }

    /// The engine of a name; nil for `auto` and unknown names.
    public func named(_ name: String) -> InferenceEngineKind? { kinds.first { $0.name == name } }

    /// The engine for these networks.
    ///
    /// `auto` selects the first engine that is available, offers the precision, and supports all the networks; engines that
    /// use a device come first. It reads every network once (which temporarily needs the file's size in memory). An engine
    /// selected by name is not checked in advance: unsupported operators are reported when the network is loaded.
    /// - Parameters:
    ///   - name: one of ``names``.
    ///   - networks: paths of ONNX files.
    ///   - precision: the precision to run them with.
    ///   - environment: where engines look for their libraries, and the device; see ``ONNXRuntimeEngine/init(environment:)``
    ///     and ``InferenceDevice``.
    /// - Throws: ``EngineChoiceError`` when `auto` finds none, or there is no engine of this name; the engine's own
    ///   error when it is not available; ``ModelFormatError`` for files that are not networks.
    public func engine(
        named name: String,
        for networks: [String],
        precision: InferencePrecision = .float32,
        environment: [String: String]
    ) throws -> any InferenceEngine {
        let device = InferenceDevice(environment: environment)
        if let kind = named(name) {
            let engine = try kind.make(environment)
            // A network on the processor would be correct but slow, and the user demanded a device.
            guard !device.isDemanded || engine.device != "cpu" else {
                throw EngineChoiceError.processorOnly(engine: name, device: device)
            }
            return engine
        }
        guard name == Self.automatic else { throw EngineChoiceError.unknownName(name, known: names) }
        var refusals: [EngineChoiceError.Refusal] = []
        // First round: engines with a device. An engine that found none is skipped, not refused.
        for kind in kinds where kind.mayUseDevice(environment) {
            let engine = made(kind, environment, &refusals)
            guard let engine, engine.device != "cpu" else { continue }
            guard let reason = try refusal(of: engine, networks, precision) else { return engine }
            refusals.append(reason)
        }
        if device.isDemanded { throw EngineChoiceError.noEngine(refusals) }
        // Second round: all engines, on the processor. The refusals of the first one would name engines twice.
        refusals = []
        let processor = environment.merging([InferenceDevice.variable: InferenceDevice.cpu.rawValue]) { $1 }
        for kind in kinds {
            guard let engine = made(kind, processor, &refusals) else { continue }
            guard let reason = try refusal(of: engine, networks, precision) else { return engine }
            refusals.append(reason)
        }
        throw EngineChoiceError.noEngine(refusals)
    }

    private func made(
        _ kind: InferenceEngineKind,
        _ environment: [String: String],
        _ refusals: inout [EngineChoiceError.Refusal]
    ) -> (any InferenceEngine)? {
        do {
            return try kind.make(environment)
        } catch {
            refusals.append(.init(engine: kind.name, reason: "is not available: \(error)"))
            return nil
        }
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

/// The value of `--engine`: `auto`, or the name of an engine.
public struct EngineChoice: RawRepresentable, Hashable, Sendable, Codable, CaseIterable, CustomStringConvertible {
    /// One of ``InferenceEngines/names``.
    public let rawValue: String

    /// Nil if the value is neither `auto` nor the name of an engine.
    public init?(rawValue: String) {
        guard InferenceEngines.all.names.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    private init(known: String) { rawValue = known }

    /// The first engine that supports all the networks.
    public static let auto = EngineChoice(known: InferenceEngines.automatic)

    /// ``auto``, then the engines in the order of the registry.
    public static var allCases: [EngineChoice] { InferenceEngines.all.names.map(EngineChoice.init(known:)) }

    /// The same as ``rawValue``.
    public var description: String { rawValue }
}

/// No engine can run the networks.
public enum EngineChoiceError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Why one engine was not chosen.
    public struct Refusal: Sendable, Equatable {
        /// Its name.
        public let engine: String
        /// The network that it cannot run, if it is a single one.
        public let network: String?
        /// Text that completes "the builtin engine …".
        public let reason: String

        /// Without a network for a reason that concerns the engine itself.
        public init(engine: String, network: String? = nil, reason: String) {
            self.engine = engine
            self.network = network
            self.reason = reason
        }
    }

    /// A name that is neither `auto` nor that of an engine.
    case unknownName(String, known: [String])
    /// An engine that was chosen by name cannot use a device.
    case processorOnly(engine: String, device: InferenceDevice)
    /// In the order of the registry.
    case noEngine([Refusal])

    /// For people: each engine with its reason.
    public var description: String {
        switch self {
        case .unknownName(let name, let known):
            "there is no engine \(name); the engines are \(known.joined(separator: ", "))"
        case .processorOnly(let engine, let device):
            "the \(engine) engine runs on the processor only, not on \(device); leave out --engine, or --device"
        case .noEngine(let refusals):
            (refusals.lazy.compactMap(\.network).first.map { "\($0): " } ?? "")
                + refusals.map { "the \($0.engine) engine \($0.reason)" }.joined(separator: "; ")
        }
    }
}
