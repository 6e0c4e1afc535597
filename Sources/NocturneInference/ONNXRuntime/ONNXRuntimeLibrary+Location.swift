internal import Foundation

/// Where ONNX Runtime is installed: found by searching folders, which executes and loads nothing.
extension ONNXRuntimeLibrary {
    /// The environment variable that names the location.
    private static let variable = "NOCTURNE_ONNXRUNTIME"
    /// The file's name without a version.
    private static let fileName = "libonnxruntime.so"
    /// Where the libraries are in a named folder, and in a folder of Python packages.
    private static let packageFolder = "onnxruntime/capi"

    /// The path of the library in any installed version; the newest one if there are several.
    ///
    /// If ``variable`` is set, only that location is searched: a user who names a location wants no other. Otherwise the folders
    /// are that of the engine in the user's data folder, the packages of python3 on the `PATH`, and the system's.
    /// - Throws: ``EngineError/Code/notFound``; ``EngineError/Code/unusableLibrary`` when the named location has none.
    static func find(_ environment: [String: String]) throws(EngineError) -> String {
        if let named = environment[variable], !named.isEmpty { return try library(named: named) }
        let places = places(environment)
        for place in places {
            if let found = place.folders.lazy.compactMap({ library(fileName, in: $0) }).first { return found }
        }
        let step = installation(gpu: InferenceDevice(environment: environment).isDemanded)
        let searched = (["\(variable) (not set)"] + places.map(\.title)).joined(separator: ", ")
        throw EngineError(
            .notFound,
            "ONNX Runtime was not found (searched: \(searched)). \(step), or set \(variable) to its folder"
        )
    }

    /// How the library is installed: with the wheel, and from a checkout.
    static func installation(gpu: Bool) -> String {
        "Install the extra `\(gpu ? "cuda" : "onnxruntime")` of Nocturne's wheel, or use `Tools/install-onnxruntime"
            + "\(gpu ? " --gpu" : "")` of its sources"
    }

    private static func library(named: String) throws(EngineError) -> String {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: named, isDirectory: &isFolder) else {
            throw unusable(named, "\(variable) specifies this path, which does not exist")
        }
        if !isFolder.boolValue { return named }
        let inside = [named] + ["capi", "lib", packageFolder].map { named + "/" + $0 }
        if let found = inside.lazy.compactMap({ library(fileName, in: $0) }).first { return found }
        throw unusable(named, "\(variable) specifies this folder, which does not contain \(fileName)")
    }

    /// The error of a library that is there.
    static func unusable(_ path: String, _ reason: String) -> EngineError {
        let step = "Set \(variable) to the folder of another one, or unset it"
        return EngineError(.unusableLibrary, "\(path): ONNX Runtime cannot be used: \(reason). \(step)")
    }

    /// Folders to search, in order of preference, and their description for messages.
    private static func places(_ environment: [String: String]) -> [(title: String, folders: [String])] {
        let python = pythonPackages(environment).map { $0 + "/" + packageFolder }
        return (userFolder(environment).map { [($0, [$0])] } ?? []) + [
            ("the packages of python3 on the PATH", python), ("the system's library path", systemPath(environment)),
        ]
    }

    /// The folder into which the project's tools install it.
    private static func userFolder(_ environment: [String: String]) -> String? {
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nocturne/onnxruntime" }
        return environment["HOME"].map { $0 + "/.local/share/nocturne/onnxruntime" }
    }

    /// The package folders of the first python3 on the path, and the user's own package folder.
    private static func pythonPackages(_ environment: [String: String]) -> [String] {
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
            names(in: root).filter { $0.hasPrefix("python3") }.sorted(by: isNewer).flatMap {
                ["\(root)/\($0)/site-packages", "\(root)/\($0)/dist-packages"]
            }
        }
    }

    private static func systemPath(_ environment: [String: String]) -> [String] {
        let named = (environment["LD_LIBRARY_PATH"] ?? "").split(separator: ":").map(String.init)
        return named + [
            "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        ]
    }

    /// The newest library of a name in a folder, whatever its suffix: wheels contain only `.so.1.31.1`, packages also `.so`.
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
