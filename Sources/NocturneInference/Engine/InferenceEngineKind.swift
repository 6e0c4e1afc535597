/// An engine as the registry lists it: what is known of it before it is started.
///
/// A new engine is one folder with a conforming type, and one line in ``InferenceEngines/all``.
public protocol InferenceEngineKind: Sendable {
    /// The value of `--engine` that selects it; the name that results keep.
    var name: String { get }
    /// For people, such as "OpenVINO".
    var title: String { get }
    /// Whether it uses software that may be missing on a machine.
    var needsInstallation: Bool { get }
    /// How the memory of its sessions is known, for people.
    var memory: String { get }

    /// Starts the engine.
    /// - Parameter environment: of the process, where engines look for their libraries.
    /// - Throws: why it is not available on this machine.
    func make(environment: [String: String]) throws -> any InferenceEngine
}
