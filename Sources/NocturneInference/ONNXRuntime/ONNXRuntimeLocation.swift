internal import Foundation
public import NocturneSystem

/// The library of an engine, which is found when the program runs by searching folders; finding it executes and loads nothing.
struct EngineLibrary: Sendable {
    /// The name of the engine, and of the folder below `nocturne` in the user's data folder.
    let engine: String
    /// For example "OpenVINO".
    let title: String
    /// The script that installs it.
    let installer: String
    /// Of its errors.
    let faultCode: FaultCode
    /// The file's name without a version.
    let file: String
    /// Where the libraries are in a named folder, and in a folder of Python packages.
    let packageFolder: String
    /// Other places in a named folder.
    let namedFolders: [String]
    /// Further folders of the system.
    var systemFolders: [String] = []

    /// The environment variable that names the location.
    var variable: String { "NOCTURNE_\(engine.uppercased())" }

    /// The path of the library in any installed version; the newest one if there are several.
    ///
    /// If ``variable`` is set, only that location is searched: a user who names a location wants no other. Otherwise the folders
    /// are that of the engine in the user's data folder, the packages of python3 on the `PATH`, and the system's.
    /// - Throws: ``EngineError/Code/notFound``; ``EngineError/Code/unusableLibrary`` when the named location has none.
    func find(_ environment: [String: String]) throws(EngineError) -> String {
        if let named = environment[variable], !named.isEmpty { return try library(named: named) }
        let places = places(environment)
        for place in places {
            if let found = place.folders.lazy.compactMap({ Self.library(file, in: $0) }).first { return found }
        }
        let searched = (["\(variable) (not set)"] + places.map(\.title)).joined(separator: ", ")
        throw EngineError(
            .notFound,
            of: self,
            "\(title) was not found; searched: \(searched). \(installer) installs it in the user's data folder; "
                + "\(variable) specifies another location"
        )
    }

    private func library(named: String) throws(EngineError) -> String {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: named, isDirectory: &isFolder) else {
            throw unusable(named, "\(variable) specifies this path, which does not exist")
        }
        if !isFolder.boolValue { return named }
        let inside = [named] + (namedFolders + [packageFolder]).map { named + "/" + $0 }
        if let found = inside.lazy.compactMap({ Self.library(file, in: $0) }).first { return found }
        throw unusable(named, "\(variable) specifies this folder, which does not contain \(file)")
    }

    /// The error of a library that is there.
    func unusable(_ path: String, _ reason: String) -> EngineError {
        EngineError(.unusableLibrary, of: self, "\(path): \(title) cannot be used: \(reason)")
    }

    /// The error of a step with a network.
    /// - Parameter message: the library's own.
    func failed(_ network: String, _ step: String, _ message: String) -> EngineError {
        EngineError(.failed, of: self, "\(network): \(title) failed to \(step): \(message)")
    }

    /// Folders to search, in order of preference, and their description for messages.
    private func places(_ environment: [String: String]) -> [(title: String, folders: [String])] {
        let python = pythonPackages(environment).map { $0 + "/" + packageFolder }
        return (userFolder(environment).map { [($0, [$0])] } ?? []) + [
            ("the packages of python3 on the PATH", python), ("the system's library path", systemPath(environment)),
        ]
    }

    /// The folder into which the project's tools install it.
    private func userFolder(_ environment: [String: String]) -> String? {
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nocturne/" + engine }
        return environment["HOME"].map { $0 + "/.local/share/nocturne/" + engine }
    }

    /// The package folders of the first python3 on the path, and the user's own package folder.
    private func pythonPackages(_ environment: [String: String]) -> [String] {
        var roots: [String] = []
        // The wheel puts the program next to the packages of its Python, which need not be on the path.
        if let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            let folder = (program as NSString).deletingLastPathComponent
            roots.append((folder as NSString).deletingLastPathComponent)
        }
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let programs = path.filter { FileManager.default.isExecutableFile(atPath: $0 + "/python3") }
        if let folder = programs.first {
            // Links are not resolved: the python3 of a virtual environment is a link to a location outside it.
            let prefix = (folder as NSString).deletingLastPathComponent
            roots += [prefix + "/lib", prefix + "/lib64"]
            if folder == "/usr/bin" || folder == "/bin" { roots.insert("/usr/local/lib", at: 0) }
        }
        if let home = environment["HOME"] { roots.append(home + "/.local/lib") }
        return roots.flatMap { root in
            Self.names(in: root).filter { $0.hasPrefix("python3") }.sorted(by: Self.isNewer).flatMap {
                ["\(root)/\($0)/site-packages", "\(root)/\($0)/dist-packages"]
            }
        }
    }

    private func systemPath(_ environment: [String: String]) -> [String] {
        let named = (environment["LD_LIBRARY_PATH"] ?? "").split(separator: ":").map(String.init)
        return named + [
            "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        ] + systemFolders
    }

    /// The newest library of a name in a folder, whatever its suffix: wheels contain only `.so.2641`, packages also `.so`.
    static func library(_ name: String, in folder: String) -> String? {
        let found = names(in: folder).filter { $0 == name || $0.hasPrefix(name + ".") }
        return found.sorted(by: isNewer).first.map { folder + "/" + $0 }
    }

    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    static func isNewer(_ one: String, _ other: String) -> Bool {
        one.compare(other, options: .numeric) == .orderedDescending
    }
}

/// Why the library of an engine, or a device, cannot be used, or which step failed. Networks that a library does not accept
/// cause ``ModelFormatError``s.
public struct EngineError: CodedError, Equatable, CustomStringConvertible {
    /// The kind of error. New kinds may be added.
    public enum Code: Sendable, Equatable {
        /// No library was found in any of the locations.
        case notFound
        /// There is a library, but it cannot be loaded, is too old, or lacks a required function.
        case unusableLibrary
        /// The device that was asked for cannot be used.
        case noDevice
        /// The network has forms of operators for which the library returns other values than ONNX specifies.
        case differs
        /// A step with a network failed; the description ends with the library's own message.
        case failed
    }

    /// The kind of error.
    public let code: Code
    /// The library's path, the network or the device, and what is wrong.
    public let description: String
    /// Of the engine.
    public let faultCode: FaultCode

    init(_ code: Code, of library: EngineLibrary, _ description: String) {
        self.code = code
        self.description = description
        faultCode = library.faultCode
    }

    /// A library's message on one line, without source code locations at its start.
    static func condensed(_ message: String) -> String {
        let lines = message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("Exception from ") }
        let text = lines.joined(separator: " ").split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !text.isEmpty else { return "it gave no reason" }
        return text.count > 600 ? text.prefix(600) + " …" : text
    }
}

extension FaultCode {
    /// ONNX Runtime, or the device that it was to use, cannot be used.
    static let onnxRuntime = FaultCode("engine", "onnxruntime")
    /// OpenVINO cannot be used, or not for this network.
    static let openVINO = FaultCode("engine", "openvino")
    /// A GPU failed, or computed other values than the processor.
    static let device = FaultCode("engine", "device")
}

/// Memory for a message of a library's C interface.
struct MessageBuffer {
    private var bytes: [CChar]

    /// - Parameter count: in bytes, with the zero at the end.
    init(count: Int = 4096) { bytes = [CChar](repeating: 0, count: count) }

    @discardableResult
    mutating func fill<R>(_ body: (UnsafeMutablePointer<CChar>?, Int) throws -> R) rethrows -> R {
        bytes[0] = 0
        return try bytes.withUnsafeMutableBufferPointer { try body($0.baseAddress, $0.count) }
    }

    /// What was written, up to the first zero.
    var text: String {
        String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
