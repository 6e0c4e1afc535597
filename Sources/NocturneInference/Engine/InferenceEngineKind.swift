/// An entry of the engine registry: what is known of an engine before it is started.
///
/// To add an engine, add one folder with a conforming type, and one line in ``InferenceEngines/all``.
public protocol InferenceEngineKind: Sendable {
    /// The value of `--engine` that selects it; also the name stored in results.
    var name: String { get }
    /// The display name, such as "OpenVINO".
    var title: String { get }
    /// Whether it uses software that may not be installed.
    var needsInstallation: Bool { get }
    /// A description of how the memory of its sessions is determined, for display.
    var memory: String { get }

    /// Starts the engine.
    /// - Parameter environment: of the process; engines use it to find their libraries.
    /// - Throws: the reason why the engine is not available on this machine.
    func make(environment: [String: String]) throws -> any InferenceEngine
}
