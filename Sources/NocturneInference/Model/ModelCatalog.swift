internal import Foundation
import NocturneSystem

/// Why a model was not found.
public enum ModelCatalogError: Error, Sendable, CustomStringConvertible {
    /// No package has that name; `available` lists the ids found, `searched` the folders that were searched.
    case notFound(name: String, available: [String], searched: [String])
    /// Several packages of one search folder have that name; `versions` lists theirs where they differ, and is empty otherwise.
    case ambiguous(name: String, folders: [String], versions: [String])
    /// The package exists but is invalid.
    case broken(ModelPackageError)
    /// The path leads to something else, with what can be done.
    case otherKind(path: String, advice: String)

    /// One line for people, with what can be done.
    public var description: String {
        switch self {
        case .notFound(let name, let available, let searched):
            let names = name.split(separator: ",")
            if names.count > 1 {
                return "--model takes one model, and is given once for each: "
                    + names.map { "--model \($0)" }.joined(separator: " ")
            }
            let places = searched.isEmpty ? "any folder" : searched.joined(separator: " and ")
            let meant = Spelling.nearest(to: name, among: available).map { " Did you mean \($0)?" } ?? ""
            let there =
                available.isEmpty
                ? "There is none in \(places): give the path of a package folder, or set NOCTURNE_MODELS to the folder of packages"
                : "Models in \(places): \(available.joined(separator: ", "))"
            return "there is no model \"\(name)\".\(meant) \(there)"
        case .ambiguous(let name, let folders, let versions):
            let step = versions.first.map { "the version, as in \(name)@\($0), or " } ?? ""
            return "\"\(name)\" is ambiguous: \(folders.joined(separator: ", ")); specify \(step)the folder"
        case .broken(let error): return "\(error)"
        case .otherKind(let path, let advice): return "\(path) \(advice)"
        }
    }
}

/// The model packages on a search path.
public struct ModelCatalog: Sendable {
    /// A folder with a `model.json`, and the result of loading it.
    public struct Entry: Sendable {
        /// The path of the package folder.
        public let folder: String
        /// The package, or why it cannot be used.
        public let package: Result<ModelPackage, ModelPackageError>

        /// The last component of the folder's path.
        public var folderName: String { (folder as NSString).lastPathComponent }
    }

    /// Folders that contain package folders, in the order in which they are searched.
    public let searchPath: [String]
    /// Checks the task of a package and the task's section.
    private let validate: @Sendable (ModelPackage) throws(ModelPackageError) -> Void

    /// - Parameter validate: checks the task of a package and the task's section; see ``ModelSettings``.
    public init(
        searchPath: [String],
        validate: @escaping @Sendable (ModelPackage) throws(ModelPackageError) -> Void = { _ in }
    ) {
        self.searchPath = searchPath
        self.validate = validate
    }

    /// The search path from the explicit folders, then `NOCTURNE_MODELS` (separated by colons), then `nocturne/models`
    /// in the XDG data home. Folders that are listed twice are used once.
    public init(
        explicitFolders: [String] = [],
        environment: [String: String],
        validate: @escaping @Sendable (ModelPackage) throws(ModelPackageError) -> Void = { _ in }
    ) {
        var folders = explicitFolders
        folders += (environment["NOCTURNE_MODELS"] ?? "").split(separator: ":").map(String.init)
        folders += Self.userFolders(environment)
        var seen: Set<String> = []
        self.init(searchPath: folders.filter { !$0.isEmpty && seen.insert($0).inserted }, validate: validate)
    }

    /// `nocturne/models` in the XDG data home; none without a home.
    public static func userFolders(_ environment: [String: String]) -> [String] {
        // The XDG specification requires that a relative path is ignored.
        if let home = environment["XDG_DATA_HOME"], home.hasPrefix("/") { return [home + "/nocturne/models"] }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return [] }
        return [home + "/.local/share/nocturne/models"]
    }

    /// All packages, including invalid ones, in the order of the search path and of names within a folder.
    ///
    /// A folder of the search path that is itself a package counts as one. Missing folders are skipped. Digests are not
    /// verified. Blocks.
    public func entries() -> [Entry] { searchPath.flatMap(candidates).map(entry) }

    /// The package that a user specified: a folder's path, or the id, the id and version with an @ between them, or the folder
    /// name of a package on the search path.
    ///
    /// A text with a slash is a path, and so is the name of a folder that contains a `model.json`. Otherwise the first
    /// folder of the search path that has the name is used. Blocks.
    public func resolve(nameOrPath: String) throws(ModelCatalogError) -> ModelPackage {
        if nameOrPath.contains("/") || Self.isPackage(nameOrPath) || FileSystem.kind(nameOrPath) == .file {
            return try load(nameOrPath)
        }
        var available: [String] = []
        for folder in searchPath {
            // Digests are verified only of the package that is used, in `load`.
            let entries = candidates(in: folder).map(entry)
            let matches = entries.filter { entry in
                if case .success(let package) = entry.package,
                    [package.id, "\(package.id)@\(package.version)"].contains(nameOrPath)
                {
                    return true
                }
                return entry.folderName == nameOrPath
            }
            // In one folder, several versions of a package may have the same id. An earlier folder hides later ones.
            if matches.count > 1 { throw Self.ambiguous(nameOrPath, matches) }
            if let match = matches.first { return try load(match.folder) }
            available += entries.map { entry in
                if case .success(let package) = entry.package { return package.id }
                return "\(entry.folderName) (broken)"
            }
        }
        if FileSystem.kind(nameOrPath) == .folder, let advice = Self.adviceAbout(nameOrPath) {
            throw .otherKind(path: nameOrPath, advice: advice)
        }
        throw .notFound(name: nameOrPath, available: available, searched: searchPath)
    }

    private static func ambiguous(_ name: String, _ matches: [Entry]) -> ModelCatalogError {
        // A package that was found by the name of its folder has no such id and version.
        let versions = matches.compactMap { try? $0.package.get() }.filter { $0.id == name }.map(\.version)
        let isDistinct = Set(versions).count == matches.count
        return .ambiguous(name: name, folders: matches.map(\.folder), versions: isDistinct ? versions : [])
    }

    private func load(_ folder: String) throws(ModelCatalogError) -> ModelPackage {
        if let advice = Self.adviceAbout(folder) { throw .otherKind(path: folder, advice: advice) }
        do {
            return try ModelPackage.load(folder: folder, validate: validate)
        } catch {
            throw .broken(error)
        }
    }

    private func entry(_ folder: String) -> Entry {
        Entry(
            folder: folder,
            package: Result { () throws(ModelPackageError) -> ModelPackage in
                try ModelPackage.load(folder: folder, verifyDigests: false, validate: validate)
            }
        )
    }

    private func candidates(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let inside = names.sorted().map { folder + "/" + $0 }.filter(Self.isPackage)
        return Self.isPackage(folder) ? [folder] + inside : inside
    }

    /// What can be done about a path that people take for a package; nil for a package, and for what cannot be looked at.
    private static func adviceAbout(_ path: String) -> String? {
        switch FileSystem.kind(path) {
        case .file where path.lowercased().hasSuffix(".onnx"):
            let folder = FileSystem.parent(of: path)
            if isPackage(folder.isEmpty ? "." : folder) {
                return "is one file of a model package. Give its folder: --model \(folder.isEmpty ? "./" : folder)"
            }
            return "is a network without a description. A model package also has a model.json; "
                + "`nocturne models import \(path) --dry-run` shows what is missing"
        case .file:
            return
                "is a file, not a model package. Give the name or the folder of a package; `nocturne models list` shows the "
                + "installed ones"
        case .folder: return isPackage(path) ? nil : OtherModelFolder.advice(about: path)
        default:
            guard access(path, F_OK) != 0, errno == ENOENT else { return nil }
            return "does not exist. `nocturne models list` shows the packages on the search path"
        }
    }

    private static func isPackage(_ folder: String) -> Bool {
        access(folder + "/" + ModelPackage.documentName, F_OK) == 0
    }
}
