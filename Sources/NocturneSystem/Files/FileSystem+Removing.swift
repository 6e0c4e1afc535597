internal import Glibc

/// The only place of the program that removes anything.
extension FileSystem {
    /// The calls of a removal, where proofs inject failures.
    package enum RemovalCall: String, Sendable, CaseIterable {
        case examine, open, list, remove
    }

    /// Removes a file, a link or a whole folder. Nothing there is no error.
    ///
    /// Links are removed, never followed: what they lead to stays. What an entry is comes from the entry itself, not from the
    /// error of a call. After a failure everything else is removed nevertheless, so that cleaning gets as far as it can.
    /// - Parameter path: the folders on the way to its last name may be links; those are followed.
    /// - Returns: the first failure, naming what is left; nil when nothing is left. Callers for whom it matters throw or report
    ///   it; those that clean up their own temporary files ignore it.
    @discardableResult
    public static func remove(_ path: String) -> FileSystemError? {
        remove(path, failing: injected)
    }

    /// Removes a folder if it is empty. Anything else stays.
    public static func removeEmptyFolder(_ path: String) {
        guard let (parent, name) = split(path), let folder = try? OpenFolder(parent),
            (try? folder.kind(of: name)) == .folder
        else { return }
        _ = injected(.remove, path) ?? folder.remove(name, isFolder: true)
    }

    /// - Parameter failing: asked before each call with its path: the code of the system to fail with, nil ordinarily.
    package static func remove(
        _ path: String,
        failing: (RemovalCall, String) -> Int32?
    ) -> FileSystemError? {
        guard let (parent, name) = split(path) else { return .left(path, EINVAL) }
        do throws(FileSystemError) {
            return remove(name, in: try OpenFolder(parent), failing)
        } catch {
            // POSIX: a folder on the way is not there, or is not a folder. Nothing can be below it then.
            return [ENOENT, ENOTDIR].contains(error.code) ? nil : .left(path, error.code)
        }
    }

    private static func remove(
        _ name: OpenFolder.Name,
        in parent: borrowing OpenFolder,
        _ failing: (RemovalCall, String) -> Int32?
    ) -> FileSystemError? {
        let path = parent.path(of: name)
        // As for every path that the system takes; with it, the depth is limited.
        guard path.utf8.count < Int(PATH_MAX) else { return .left(path, ENAMETOOLONG) }
        var failure: FileSystemError?
        var isFolder = false
        do throws(FileSystemError) {
            if let code = failing(.examine, path) { return .left(path, code) }
            switch try parent.kind(of: name) {
            case .nothing: return nil
            case .file, .other: break
            case .folder:
                isFolder = true
                failure = removeEntries(of: name, in: parent, failing)
            }
        } catch {
            return .left(path, error.code)
        }
        let code = failing(.remove, path) ?? parent.remove(name, isFolder: isFolder)
        if code == 0 || code == ENOENT { return nil }
        return failure ?? .left(path, code)
    }

    /// A folder that cannot be listed may be empty, and is then removed all the same.
    private static func removeEntries(
        of name: OpenFolder.Name,
        in parent: borrowing OpenFolder,
        _ failing: (RemovalCall, String) -> Int32?
    ) -> FileSystemError? {
        let path = parent.path(of: name)
        if let code = failing(.open, path) { return .left(path, code) }
        do throws(FileSystemError) {
            let folder = try OpenFolder(name, in: parent)
            if let code = failing(.list, path) { return .left(path, code) }
            let (names, fault) = folder.names()
            var failure = fault.map { FileSystemError.left(path, $0.code) }
            for entry in names {
                let own = remove(entry, in: folder, failing)
                failure = failure ?? own
            }
            return failure
        } catch {
            return .left(path, error.code)
        }
    }

    private static func injected(_ call: RemovalCall, _: String) -> Int32? {
        FaultPoint.fileRemove.failure(of: call.rawValue)
    }

    /// The folder and the name of a path; nil for the root and for what ends in `.` or `..`, which nothing may remove.
    private static func split(_ path: String) -> (parent: String, name: OpenFolder.Name)? {
        var rest = path[...]
        while rest.count > 1, rest.hasSuffix("/") { rest.removeLast() }
        let slash = rest.lastIndex(of: "/")
        let name = String(slash.map { rest[rest.index(after: $0)...] } ?? rest)
        guard FileSystem.isName(name) else { return nil }
        let parent = slash.map { $0 == rest.startIndex ? "/" : String(rest[..<$0]) } ?? "."
        return (parent, Array(name.utf8CString))
    }
}

extension FileSystemError {
    fileprivate static func left(_ path: String, _ code: Int32) -> FileSystemError {
        FileSystemError(operation: "remove", path: path, code: code)
    }
}
