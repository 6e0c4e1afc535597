/// ``BuiltinEngine`` in the registry.
public struct BuiltinEngineKind: InferenceEngineKind {
    public init() {}

    public var name: String { "builtin" }
    public var title: String { "Nocturne's own kernels" }
    public var needsInstallation: Bool { false }
    public var memory: String { "computed exactly before a session is created, and shared by sessions of an ensemble" }

    public func make(environment: [String: String]) -> any InferenceEngine { BuiltinEngine(environment: environment) }
}

extension EngineChoice {
    public static let builtin = EngineChoice(BuiltinEngineKind())
}
