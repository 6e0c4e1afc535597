internal import Glibc

/// What lies below a folder. Links in it are entries like others: they are never followed.
extension FileSystem {
    /// Everything below a folder but folders.
    public struct Tree: Sendable {
        /// Relative paths and what they are, sorted in each folder.
        public var entries: [(path: String, kind: Kind)] = []
        /// Relative paths with names that are not UTF-8, shown with the numbers of the bytes: such an entry cannot be used.
        public var unusable: [String] = []
        /// Folders that could not be read to their end.
        public var faults: [FileSystemError] = []
    }

    /// - Parameter folder: followed where it is a link itself.
    public static func tree(of folder: String) -> Tree {
        var tree = Tree()
        do throws(FileSystemError) {
            read(try OpenFolder(folder), prefix: "", &tree)
        } catch {
            tree.faults.append(error)
        }
        return tree
    }

    private static func read(_ folder: borrowing OpenFolder, prefix: String, _ tree: inout Tree) {
        let (names, fault) = folder.names()
        if let fault { tree.faults.append(fault) }
        var usable: [(text: String, name: OpenFolder.Name)] = []
        for name in names {
            if let text = String(validating: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self) {
                usable.append((text, name))
            } else {
                tree.unusable.append(prefix + OpenFolder.text(name))
            }
        }
        for (text, name) in usable.sorted(by: { $0.text < $1.text }) {
            do throws(FileSystemError) {
                switch try folder.kind(of: name) {
                case .nothing: break
                case .folder: read(try OpenFolder(name, in: folder), prefix: prefix + text + "/", &tree)
                case let kind: tree.entries.append((prefix + text, kind))
                }
            } catch {
                tree.faults.append(error)
            }
        }
    }

    /// Everything below a folder but folders, links and pipes too, as relative paths.
    public static func tree(below folder: String) -> [String] {
        let tree = tree(of: folder)
        return tree.entries.map(\.path) + tree.unusable.sorted()
    }

    /// Every regular file below a folder, as relative paths.
    public static func files(below folder: String) -> [String] {
        tree(of: folder).entries.filter { $0.kind == .file }.map(\.path)
    }
}

extension FileSystem {
    /// Whether a path is a folder or lies in it, by their texts alone: both absolute, without a slash at the end but for the root.
    public static func isWithin(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }

    // Checks of names and relative paths that come from a file, before a path is made of them.

    /// Whether this is the name of one entry of a folder: not empty, no `.` or `..`, and without a slash or NUL.
    public static func isName(_ text: String) -> Bool {
        !text.isEmpty && text != "." && text != ".." && !text.utf8.contains(UInt8(ascii: "/")) && !text.utf8.contains(0)
    }

    /// Whether a path, put behind a folder, stays below that folder: names with single slashes between them.
    public static func staysBelow(_ path: String) -> Bool {
        path.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { isName(String($0)) }
    }
}
