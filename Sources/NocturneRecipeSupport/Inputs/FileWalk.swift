import Foundation
package import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneJournal
package import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Walks the inputs and lists every regular file once, sorted by path.
package struct FileWalk {
    package let request: DiscoveryRequest
    package let flag: CancellationFlag
    private var seenFolders: Set<FileIdentity> = []
    package private(set) var files: [FoundFile] = []
    /// Unresponsive files, which are not in ``files``.
    package private(set) var unresponsive: [FoundFile] = []
    package private(set) var notes: [String] = []
    /// Paths in the inputs that no recipe can use: pipes, dangling links, names that are not valid UTF-8, and files and
    /// folders that cannot be read.
    private var unusablePaths: [UnusablePath] = []

    private struct UnusablePath {
        let path: String
        let code: FaultCode
        let reason: String
        /// Whether inputs may be hidden behind it.
        var isFault = false
    }

    private struct FileIdentity: Hashable {
        let device: UInt
        let inode: UInt
    }

    package init(request: DiscoveryRequest, flag: CancellationFlag) {
        self.request = request
        self.flag = flag
    }

    /// - Throws: ``BatchError`` when an input does not exist; ``CancelledError``.
    package mutating func run() throws {
        for input in request.inputs {
            let root = (input as NSString).lastPathComponent
            guard try responds(input, .status) else { continue }
            var status = stat()
            guard stat(input, &status) == 0 else {
                if request.toleratesMissing {
                    notes.append("\(input) does not exist: \(String(cString: strerror(errno)))")
                    continue
                }
                throw BatchError(.inputMissing, path: input, detail: String(cString: strerror(errno)))
            }
            if status.st_mode & S_IFMT == S_IFDIR {
                try walk(input, below: "", root: root, status)
            } else if status.st_mode & S_IFMT != S_IFREG {
                unusablePaths.append(UnusablePath(path: input, code: .notAFile, reason: FileWalk.kind(status)))
            } else {
                add(
                    FoundFile(
                        path: input,
                        name: root,
                        root: ((input as NSString).deletingLastPathComponent as NSString).lastPathComponent
                    )
                )
            }
        }
        files.sort()
        removeEquivalentNames()
        guard request.silent.patience != nil else { return }
        var unresponsivePaths: Set<String> = []
        for start in stride(from: 0, to: files.count, by: Self.filesAtOnce) {
            let portion = files[start...].prefix(Self.filesAtOnce).map(\.path)
            unresponsivePaths.formUnion(try request.silent.among(portion, flag: flag))
        }
        guard !unresponsivePaths.isEmpty else { return }
        unresponsive = files.filter { unresponsivePaths.contains($0.path) }
        for index in unresponsive.indices { unresponsive[index].isUnresponsive = true }
        files.removeAll { unresponsivePaths.contains($0.path) }
    }

    /// How many paths are tried in one go.
    private static let filesAtOnce = 4096

    /// Equal strings can be different names on disk, since a letter can be encoded as one Unicode scalar or as two.
    /// Paths identify files, so only the first of such names is used; a path that was found twice is used once.
    private mutating func removeEquivalentNames() {
        // Equal paths follow each other, the one that was found first in front.
        var first: FoundFile?
        files.removeAll { file in
            guard let other = first, !(other < file) else {
                first = file
                return false
            }
            if !other.path.utf8.elementsEqual(file.path.utf8) {
                unusablePaths.append(
                    UnusablePath(
                        path: FileSystem.escaped(file.path.utf8),
                        code: .unusableName,
                        reason: "its name differs from another name only in the Unicode encoding of letters; rename it"
                    )
                )
            }
            return true
        }
    }

    private static func kind(_ status: stat) -> String {
        switch status.st_mode & S_IFMT {
        case S_IFIFO: "a pipe, not a regular file"
        case S_IFSOCK: "a socket, not a regular file"
        default: "a device, not a regular file"
        }
    }

    private mutating func walk(_ folder: String, below: String, root: String, _ status: stat) throws {
        try flag.check()
        // Links may form cycles: each folder is visited once.
        guard seenFolders.insert(FileIdentity(device: UInt(status.st_dev), inode: UInt(status.st_ino))).inserted else {
            return
        }
        request.trace.moved()
        guard try responds(folder, .entries) else { return }
        if request.pruned.contains(where: { isSameFile(folder, $0) }) {
            notes.append("\(folder) is the output folder and is not searched")
            return
        }
        // A folder without a journal, which a mistyped command may have left, hides no inputs.
        if OutputFolder(folder).holdsBatch {
            let reason = "the output folder of another batch, which is not searched: name the inputs in it one by one"
            unusablePaths.append(UnusablePath(path: folder, code: .otherBatch, reason: reason))
            return
        }
        if access(folder, R_OK | X_OK) != 0 { return addUnreadable(folder, errno) }
        let (entries, unusable, fault) = FileSystem.listing(folder)
        if let fault { addUnreadable(folder, fault) }
        for entry in unusable where !entry.hasPrefix(".") {
            unusablePaths.append(
                UnusablePath(
                    path: folder + "/" + entry,
                    code: .unusableName,
                    reason: "its name is not valid UTF-8; rename it"
                )
            )
        }
        let visible = entries.filter { !$0.hasPrefix(".") }
        let silent = try request.silent.among(visible.map { folder + "/" + $0 }, .status, flag: flag)
        let found = FoundFolder.files(of: folder, name: below, root: root, names: visible)
        for (entry, file) in zip(visible, found) where !silent.contains(folder + "/" + entry) {
            let path = folder + "/" + entry
            let name = below.isEmpty ? entry : below + "/" + entry
            var inner = stat()
            guard stat(path, &inner) == 0 else {
                let code = errno
                if FileSystem.kind(path) == .other, code == ENOENT || code == ELOOP {
                    let reason = code == ENOENT ? "a dangling link" : "a cyclic link"
                    unusablePaths.append(UnusablePath(path: path, code: .notAFile, reason: reason))
                } else if code != ENOENT {
                    addUnreadable(path, code)
                }
                continue
            }
            if inner.st_mode & S_IFMT == S_IFDIR {
                try walk(path, below: name, root: root, inner)
            } else if inner.st_mode & S_IFMT == S_IFREG {
                add(file)
            } else {
                unusablePaths.append(UnusablePath(path: path, code: .notAFile, reason: FileWalk.kind(inner)))
            }
        }
    }

    /// Whether a path responds; one that does not is listed with the batch's other files that do not.
    private func responds(_ path: String, _ kind: UnresponsiveFiles.Request) throws -> Bool {
        try request.silent.among([path], kind, flag: flag).isEmpty
    }

    private mutating func addUnreadable(_ path: String, _ code: Int32) {
        unusablePaths.append(
            UnusablePath(
                path: path,
                code: .unreadable,
                reason: "cannot be read: \(String(cString: strerror(code)))",
                isFault: true
            )
        )
    }

    private mutating func add(_ file: FoundFile) {
        if request.admits(file) { files.append(file) }
    }

    private func isSameFile(_ a: String, _ b: String) -> Bool {
        var first = stat()
        var second = stat()
        guard stat(a, &first) == 0, stat(b, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }
}

extension FileWalk {
    /// The paths of all that was found, whether it can be used or not, made one by one.
    package var paths: some Sequence<String> {
        [AnySequence((files + unresponsive).lazy.map(\.path)), AnySequence(unusablePaths.map(\.path))].lazy.joined()
    }

    /// The unusable paths as items. Every recipe returns them; each is reported once.
    package func unusable(model: String) -> [DiscoveredItem] {
        unusablePaths.map { entry in
            let reason = ItemReason.discovered(entry.code, entry.reason)
            let key = (entry.isFault ? DiscoveredItem.missedKeyPrefix : DiscoveredItem.fileKeyPrefix) + entry.path
            return DiscoveredItem(
                key: key,
                name: request.shownNames.itemName((entry.path as NSString).lastPathComponent, key: key),
                model: model,
                source: "{}",
                path: entry.path,
                fingerprint: ContentDigest.of(key),
                problem: entry.isFault ? .refused(reason) : .unknown(reason)
            )
        }
    }
}

extension DiscoveryRequest {
    /// Whether the include and exclude patterns admit the file.
    package func admits(_ file: FoundFile) -> Bool {
        func matches(_ glob: String) -> Bool {
            fnmatch(glob, file.name, 0) == 0 || fnmatch(glob, file.fileName, 0) == 0
        }
        return (include.isEmpty || include.contains(where: matches)) && !exclude.contains(where: matches)
    }
}
