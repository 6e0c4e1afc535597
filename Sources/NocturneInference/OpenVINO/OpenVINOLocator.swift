internal import Foundation

/// Finds the library by searching folders; no code is executed or loaded.
struct OpenVINOLocator {
    /// A folder or file to search, and its description for messages.
    struct Place {
        var title: String
        var folders: [String]
    }

    static let libraryName = "libopenvino_c.so"

    let environment: [String: String]

    /// The path of `libopenvino_c.so` in any installed version; the newest one if there are several.
    ///
    /// If `NOCTURNE_OPENVINO` is set, only that location is searched: a user who names a location wants no other.
    /// - Throws: ``OpenVINOError/notFound(lookedIn:)``, ``OpenVINOError/unusableLibrary(path:reason:)`` when the named
    ///   location has none.
    func find() throws(OpenVINOError) -> String {
        if let named = environment["NOCTURNE_OPENVINO"], !named.isEmpty {
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: named, isDirectory: &isFolder) else {
                throw .unusableLibrary(
                    path: named,
                    reason: "NOCTURNE_OPENVINO specifies this path, which does not exist"
                )
            }
            if !isFolder.boolValue { return named }
            let inside = [named, named + "/libs", named + "/openvino/libs", named + "/runtime/lib/intel64"]
            if let found = inside.lazy.compactMap(Self.library(in:)).first { return found }
            throw .unusableLibrary(
                path: named,
                reason: "NOCTURNE_OPENVINO specifies this folder, which does not contain \(Self.libraryName)"
            )
        }
        for place in places {
            if let found = place.folders.lazy.compactMap(Self.library(in:)).first { return found }
        }
        throw .notFound(lookedIn: ["NOCTURNE_OPENVINO (not set)"] + places.map(\.title))
    }

    /// In order of preference.
    var places: [Place] {
        var places: [Place] = []
        if let data = dataFolder { places.append(Place(title: data, folders: [data])) }
        let packages = pythonPackages
        places.append(
            Place(
                title: "the packages of python3 on the PATH",
                folders: packages.map { $0 + "/openvino/libs" }
            )
        )
        places.append(Place(title: "the system's library path", folders: systemFolders))
        return places
    }

    /// The folder into which `Tools/install-openvino` installs it.
    private var dataFolder: String? {
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/nocturne/openvino" }
        return environment["HOME"].map { $0 + "/.local/share/nocturne/openvino" }
    }

    /// The package folders of the first python3 on the path, and the user's own package folder.
    private var pythonPackages: [String] {
        var roots: [String] = []
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

    private var systemFolders: [String] {
        let named = (environment["LD_LIBRARY_PATH"] ?? "").split(separator: ":").map(String.init)
        let intel = Self.names(in: "/opt/intel").filter { $0.hasPrefix("openvino") }.sorted(by: Self.isNewer)
        return named + [
            "/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
        ]
            + intel.flatMap { ["/opt/intel/\($0)/runtime/lib/intel64", "/opt/intel/\($0)/runtime/lib/aarch64"] }
    }

    /// The newest library in a folder, whatever its suffix: wheels contain only `.so.2641`, packages also `.so`.
    static func library(in folder: String) -> String? {
        let found = names(in: folder).filter { $0 == libraryName || $0.hasPrefix(libraryName + ".") }
        return found.sorted(by: isNewer).first.map { folder + "/" + $0 }
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func isNewer(_ one: String, _ other: String) -> Bool {
        one.compare(other, options: .numeric) == .orderedDescending
    }
}
