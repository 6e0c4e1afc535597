/// The value of `--engine`: `auto`, or the name of an engine.
public struct EngineChoice: RawRepresentable, Hashable, Sendable, Codable, CaseIterable, CustomStringConvertible {
    public let rawValue: String

    /// Nil if the value is neither `auto` nor the name of an engine.
    public init?(rawValue: String) {
        guard InferenceEngines.all.names.contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    public init(_ kind: some InferenceEngineKind) { rawValue = kind.name }

    private init() { rawValue = InferenceEngines.automatic }

    /// The first engine that supports all the networks.
    public static let auto = EngineChoice()

    public static var allCases: [EngineChoice] { [.auto] + InferenceEngines.all.kinds.map { EngineChoice($0) } }

    public var description: String { rawValue }

    /// All values, for help and messages: "auto, builtin or openvino".
    public static var list: String {
        let names = InferenceEngines.all.names
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }

    /// The engine for these networks, chosen among all; see
    /// ``InferenceEngines/engine(named:for:precision:environment:)``.
    public static func engine(
        named choice: EngineChoice,
        for networks: [String],
        precision: InferencePrecision = .float32,
        environment: [String: String]
    ) throws -> any InferenceEngine {
        try InferenceEngines.all.engine(
            named: choice.rawValue,
            for: networks,
            precision: precision,
            environment: environment
        )
    }
}
