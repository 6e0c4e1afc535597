internal import COpenVINO
import NocturneSystem
internal import Synchronization

/// The library of one path, loaded once per process and never unloaded, because its threads run until the process ends.
final class OpenVINOLibrary: @unchecked Sendable {
    // Unchecked: the function table and the core are created in init; OpenVINO's core may be used from any thread.
    let path: String
    /// For example `2026.4.1`.
    let version: String
    /// The properties supported by the processor plugin: keys that can be passed to compilation.
    let properties: Set<String>
    /// The precisions that this processor supports, such as `FP32` and `BF16`.
    let capabilities: Set<String>
    let table: OpaquePointer
    let core: UnsafeMutableRawPointer

    static let library = EngineLibrary(
        engine: "openvino",
        title: "OpenVINO",
        installer: "Tools/install-openvino",
        faultCode: .openVINO,
        file: "libopenvino_c.so",
        packageFolder: "openvino/libs",
        namedFolders: ["libs", "runtime/lib/intel64"],
        systemFolders: EngineLibrary.names(in: "/opt/intel").filter { $0.hasPrefix("openvino") }
            .sorted(by: EngineLibrary.isNewer)
            .flatMap { ["/opt/intel/\($0)/runtime/lib/intel64", "/opt/intel/\($0)/runtime/lib/aarch64"] }
    )

    private static let loaded = Mutex<[String: OpenVINOLibrary]>([:])

    /// The library that ``EngineLibrary/find(_:)`` finds.
    static func shared(_ environment: [String: String]) throws(EngineError) -> OpenVINOLibrary {
        let path = try library.find(environment)
        return try loaded.withLock { (loaded) throws(EngineError) in
            if let known = loaded[path] { return known }
            let library = try OpenVINOLibrary(path)
            loaded[path] = library
            return library
        }
    }

    private init(_ path: String) throws(EngineError) {
        var reason = MessageBuffer()
        guard let table = reason.fill({ covino_open(path, $0, $1) }) else {
            throw Self.library.unusable(path, reason.text)
        }
        var core: UnsafeMutableRawPointer?
        let status = covino_core(table, &core)
        guard status == 0, let core else { throw Self.library.unusable(path, Self.message(table, status)) }
        self.path = path
        self.table = table
        self.core = core
        var number = MessageBuffer()
        // The release without the build number: complete for display, and sufficient to distinguish results.
        version =
            number.fill { covino_version(table, $0, $1) } == 0
            ? number.text.split(separator: "-").first.map(String.init) ?? "unknown" : "unknown"
        capabilities = Self.values(of: "OPTIMIZATION_CAPABILITIES", table, core)
        properties = Self.values(of: "SUPPORTED_PROPERTIES", table, core)
        guard !capabilities.isEmpty else {
            throw Self.library.unusable(path, "its plugin for the processor (CPU) cannot be loaded")
        }
    }

    /// OpenVINO's message for the error that just occurred, as the reason why a network is refused.
    func says(_ status: Int32) -> String { "OpenVINO \(version): \(Self.message(table, status))" }

    /// The error of a step with a network that just failed.
    func failed(_ network: String, _ step: String, _ status: Int32) -> EngineError {
        Self.library.failed(network, step, Self.message(table, status))
    }

    private static func message(_ table: OpaquePointer, _ status: Int32) -> String {
        var buffer = MessageBuffer(count: 8192)
        buffer.fill { covino_last_message(table, status, $0, $1) }
        return EngineError.condensed(buffer.text)
    }

    private static func values(of key: String, _ table: OpaquePointer, _ core: UnsafeMutableRawPointer) -> Set<String> {
        var buffer = MessageBuffer(count: 16384)
        guard buffer.fill({ covino_core_property(table, core, key, $0, $1) }) == 0 else { return [] }
        return Set(buffer.text.split { $0 == " " || $0 == "," }.map(String.init))
    }
}
