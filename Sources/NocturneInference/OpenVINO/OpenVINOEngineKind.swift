/// ``OpenVINOEngine`` in the registry.
public struct OpenVINOEngineKind: InferenceEngineKind {
    public init() {}

    public var name: String { "openvino" }
    public var title: String { "OpenVINO" }
    public var needsInstallation: Bool { true }
    public var memory: String { "measured while a network is compiled for a shape; every session has its own" }

    public func make(environment: [String: String]) throws -> any InferenceEngine {
        try OpenVINOEngine(environment: environment)
    }
}

extension EngineChoice {
    public static let openvino = EngineChoice(OpenVINOEngineKind())
}
