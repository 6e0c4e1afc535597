import Foundation
import NocturneJournal
import NocturneSystem

/// What an option such as `--compare` gives for the items: a file for all of them, or a folder with one file per item.
struct FilePerItem {
    /// The path given.
    let root: String
    /// Endings of names, in the order in which they are tried. A name without ending may be a folder.
    let endings: [String]

    /// The file given, or the first existing one of `root/path/item` (the input's relative path) and `root/item` with
    /// one of the endings; nil if there is none.
    /// - Parameters:
    ///   - name: the input's path relative to the input as given.
    ///   - item: its name, without path and extension.
    func file(for name: String, item: String) -> FoundFile? {
        guard FileSystem.exists(root) else { return nil }
        let rootName = (root as NSString).lastPathComponent
        guard FileSystem.isFolder(root) else { return FoundFile(path: root, name: rootName, root: "") }
        let folder = FileSystem.parent(of: name)
        let stems = folder.isEmpty ? [item] : [folder + "/" + item, item]
        let names = stems.flatMap { stem in endings.map { stem + $0 } }
        return names.first { FileSystem.exists(root + "/" + $0) }
            .map { FoundFile(path: root + "/" + $0, name: $0, root: rootName) }
    }

    /// Whether a file lies among the inputs but is not an input: one of these paths or in one of them, unless an input
    /// given is that folder or lies in it.
    static func excluded(_ paths: [String], _ inputs: [String]) -> @Sendable (String) -> Bool {
        let folders = paths.filter { folder in !inputs.contains { FileSystem.isWithin($0, folder) } }
        return { path in folders.contains { FileSystem.isWithin(path, $0) } }
    }
}
