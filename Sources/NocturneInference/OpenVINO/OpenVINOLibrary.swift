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

    private static let loaded = Mutex<[String: OpenVINOLibrary]>([:])
    /// Held while a network is compiled, so that the growth of memory is caused by that network only.
    static let compiling = Mutex<Void>(())

    static func shared(_ path: String) throws(OpenVINOError) -> OpenVINOLibrary {
        let result = loaded.withLock { loaded -> Result<OpenVINOLibrary, OpenVINOError> in
            if let known = loaded[path] { return .success(known) }
            return Result { () throws(OpenVINOError) in
                let library = try OpenVINOLibrary(path)
                loaded[path] = library
                return library
            }
        }
        return try result.get()
    }

    private init(_ path: String) throws(OpenVINOError) {
        var reason = [CChar](repeating: 0, count: 1024)
        guard let table = covino_open(path, &reason, reason.count) else {
            throw .unusableLibrary(path: path, reason: Self.text(reason))
        }
        var core: UnsafeMutableRawPointer?
        let status = covino_core(table, &core)
        guard status == 0, let core else {
            throw .unusableLibrary(path: path, reason: Self.message(table, status))
        }
        self.path = path
        self.table = table
        self.core = core
        version = Self.versionNumber(table)
        capabilities = Self.values(of: "OPTIMIZATION_CAPABILITIES", table, core)
        properties = Self.values(of: "SUPPORTED_PROPERTIES", table, core)
        guard !capabilities.isEmpty else {
            throw .unusableLibrary(path: path, reason: "its plugin for the processor (CPU) cannot be loaded")
        }
    }

    /// OpenVINO's message for the error that just occurred.
    func message(_ status: Int32) -> String { Self.message(table, status) }

    private static func message(_ table: OpaquePointer, _ status: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 8192)
        covino_last_message(table, status, &buffer, buffer.count)
        return OpenVINOError.condensed(text(buffer))
    }

    /// The release without the build number: complete for display, and sufficient to distinguish results.
    private static func versionNumber(_ table: OpaquePointer) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard covino_version(table, &buffer, buffer.count) == 0 else { return "unknown" }
        return text(buffer).split(separator: "-").first.map(String.init) ?? "unknown"
    }

    private static func values(of key: String, _ table: OpaquePointer, _ core: UnsafeMutableRawPointer) -> Set<String> {
        var buffer = [CChar](repeating: 0, count: 16384)
        guard covino_core_property(table, core, key, &buffer, buffer.count) == 0 else { return [] }
        return Set(text(buffer).split { $0 == " " || $0 == "," }.map(String.init))
    }

    static func text(_ buffer: [CChar]) -> String {
        String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Calls `body` with C strings that are valid for the duration of the call.
func withCStrings<R>(_ strings: [String], _ body: ([UnsafePointer<CChar>?]) throws -> R) rethrows -> R {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for string in strings {
        starts.append(bytes.count)
        bytes += string.utf8CString
    }
    return try bytes.withUnsafeBufferPointer { buffer in
        try body(starts.map { start in buffer.baseAddress.map { $0 + start } })
    }
}
