import Foundation
import Glibc
import NocturneJournal
import NocturneOutput
import NocturneSystem

/// The walk over the inputs: records every regular file once in a table.
struct FileWalk {
    private let request: DiscoveryRequest
    private let flag: CancellationFlag
    private let table: FoundTable
    private var seenFolders: Set<FileIdentity> = []
    private var portion: [FoundTable.WalkedFile] = []
    private(set) var notes: [String] = []
    /// Paths in the inputs that no recipe can use: pipes, dangling links, names that are not valid UTF-8, and files and
    /// folders that cannot be read.
    private(set) var unusable: [UnusablePath] = []

    struct UnusablePath: Sendable {
        let path: String
        let reason: ItemReason
        /// Whether inputs may be hidden behind it.
        let isFault: Bool

        fileprivate init(path: String, code: FaultCode, reason: Sentence) {
            (self.path, self.reason) = (path, .discovered(code, reason))
            isFault = [.unreadable, .unusableName].contains(code)
        }
    }

    /// Walks the inputs of a request.
    /// - Throws: ``BatchError`` when an input does not exist; ``CancelledError``; errors of the table.
    init(_ request: DiscoveryRequest, into table: FoundTable, flag: CancellationFlag) throws {
        (self.request, self.table, self.flag) = (request, table, flag)
        for input in request.inputs { try walk(input) }
        try record()
    }

    private mutating func walk(_ input: String) throws {
        let root = (input as NSString).lastPathComponent
        // A path of a server that does not respond would block `stat`.
        guard try responds(input, .status) else { return }
        var status = stat()
        guard stat(input, &status) == 0 else {
            let code = errno
            let detail = String(cString: strerror(code))
            switch request.missingInputs {
            case .refused:
                guard code == ENOENT else { throw BatchError(.inputMissing, path: input, detail: detail) }
                throw BatchError(.inputMissing, path: "", detail: Self.missing(input))
            case .failed: return addUnreadable(input, code)
            case .noted(let failed) where failed.contains(input): return addUnreadable(input, code)
            case .noted: return notes.append("\(input) does not exist: \(detail)")
            }
        }
        if status.st_mode & S_IFMT == S_IFDIR {
            try walk(input, below: "", root: root, status)
        } else if status.st_mode & S_IFMT != S_IFREG {
            unusable.append(UnusablePath(path: input, code: .notAFile, reason: FileWalk.kind(status)))
        } else {
            let folder = ((input as NSString).deletingLastPathComponent as NSString).lastPathComponent
            try add(FoundFile(path: input, name: root, root: folder), status)
        }
    }

    /// Why an input that does not exist is refused, and what to do.
    static func missing(_ input: String) -> String {
        if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: input) {
            return "\(input) is a link to \(target), which does not exist"
        }
        if isPattern(input) {
            guard hasMatch(input) else { return "no file or folder matches \(input). Check the path" }
            let (folder, name) = (FileSystem.parent(of: input), (input as NSString).lastPathComponent)
            let other = isPattern(folder) ? "" : ", or give \(folder) with --include '\(name)'"
            return "Nocturne does not expand the pattern \(input). Leave out the quotes\(other)"
        }
        return "there is no file or folder \(input). Check the path"
    }

    private static func isPattern(_ path: String) -> Bool { path.contains { "*?[".contains($0) } }

    /// Whether a shell would expand the pattern.
    private static func hasMatch(_ pattern: String) -> Bool {
        var found = glob_t()
        defer { globfree(&found) }
        return glob(pattern, GLOB_NOSORT, nil, &found) == 0
    }

    private static func kind(_ status: stat) -> Sentence {
        switch status.st_mode & S_IFMT {
        case S_IFIFO: "a pipe, not a regular file"
        case S_IFSOCK: "a socket, not a regular file"
        default: "a device, not a regular file"
        }
    }

    private mutating func walk(_ folder: String, below: String, root: String, _ status: stat) throws {
        try flag.check()
        // Links may form cycles: each folder is visited once.
        guard seenFolders.insert(FileIdentity(status)).inserted else { return }
        request.trace.moved()
        guard try responds(folder, .entries) else { return }
        if request.pruned.contains(where: { isSameFile(folder, $0) }) {
            notes.append("\(folder) is the output folder and is not searched")
            return
        }
        // A folder without a journal, which a mistyped command may have left, hides no inputs.
        if OutputFolder(folder).holdsBatch {
            let reason: Sentence =
                "the output folder of another batch, which is not searched. To process files in it, name them"
            unusable.append(UnusablePath(path: folder, code: .otherBatch, reason: reason))
            return
        }
        if access(folder, R_OK | X_OK) != 0 { return addUnreadable(folder, errno) }
        let (entries, unreadable, fault) = FileSystem.listing(folder)
        if let fault { addUnreadable(folder, fault) }
        for entry in unreadable where !entry.hasPrefix(".") {
            let path = folder + "/" + entry
            let name = below.isEmpty ? entry : below + "/" + entry
            if request.excludes(FoundFile(path: path, name: name, root: root)) { continue }
            let reason: Sentence = "its name is not valid UTF-8; rename it"
            unusable.append(UnusablePath(path: path, code: .unusableName, reason: reason))
        }
        var names = entries[...]
        var count = Self.namesAtOnce
        while !names.isEmpty {
            let portion = names.prefix(count).filter { !$0.hasPrefix(".") }.map { (name: $0, path: folder + "/" + $0) }
            names = names.dropFirst(count)
            let silent = try request.silent.among(portion.map(\.path), .status, flag: flag)
            try walk(portion.filter { !silent.contains($0.path) }, below: below, root: root)
            // Where files do not respond, the time limit passes once for all that follow.
            if !silent.isEmpty { count = .max }
        }
    }

    /// Names of a folder whose paths are made and tried at once: a million paths would take 100 MB.
    private static let namesAtOnce = 4096

    private mutating func walk(_ entries: [(name: String, path: String)], below: String, root: String) throws {
        for (entry, path) in entries {
            let name = below.isEmpty ? entry : below + "/" + entry
            var inner = stat()
            guard stat(path, &inner) == 0 else {
                let code = errno
                // `stat` follows links: one without a target is listed, and a file that has vanished since is not.
                if FileSystem.kind(path) == .other, code == ENOENT || code == ELOOP {
                    let reason: Sentence = code == ENOENT ? "a dangling link" : "a cyclic link"
                    unusable.append(UnusablePath(path: path, code: .notAFile, reason: reason))
                } else if code != ENOENT {
                    addUnreadable(path, code)
                }
                continue
            }
            if inner.st_mode & S_IFMT == S_IFDIR {
                try walk(path, below: name, root: root, inner)
            } else if inner.st_mode & S_IFMT == S_IFREG {
                try add(FoundFile(path: path, name: name, root: root), inner)
            } else {
                unusable.append(UnusablePath(path: path, code: .notAFile, reason: FileWalk.kind(inner)))
            }
        }
    }

    /// Whether a path responds; one that does not is listed with the batch's other files that do not.
    private func responds(_ path: String, _ kind: UnresponsiveFiles.Request) throws -> Bool {
        try request.silent.among([path], kind, flag: flag).isEmpty
    }

    private mutating func addUnreadable(_ path: String, _ code: Int32) {
        unusable.append(
            UnusablePath(
                path: path,
                code: code == ENAMETOOLONG ? .unusableName : .unreadable,
                reason: "cannot be read: \(String(cString: strerror(code)))"
            )
        )
    }

    private mutating func add(_ file: FoundFile, _ status: stat) throws {
        guard request.admits(file) else { return }
        portion.append((file, FileIdentity(status)))
        if portion.count == FoundTable.itemsAtOnce { try record() }
    }

    private mutating func record() throws {
        let reason: Sentence = "its name differs from another name only in the Unicode encoding of letters; rename it"
        for file in try table.add(portion) {
            let path = FileSystem.escaped(file.path.utf8)
            unusable.append(UnusablePath(path: path, code: .unusableName, reason: reason))
        }
        portion.removeAll(keepingCapacity: true)
    }

    private func isSameFile(_ a: String, _ b: String) -> Bool {
        FileIdentity(a).map { $0 == FileIdentity(b) } ?? false
    }
}

extension FileWalk.UnusablePath {
    /// The path as an item that cannot be processed.
    func item(_ names: ShownNames) -> DiscoveredItem {
        let key = (isFault ? DiscoveredItem.missedKeyPrefix : DiscoveredItem.fileKeyPrefix) + path
        var item = DiscoveredItem(
            key: key,
            name: names.itemName((path as NSString).lastPathComponent, key: key),
            model: "",
            path: path,
            fingerprint: ContentDigest.of(key)
        )
        item.problem = isFault ? .refused(reason) : .setAside(reason)
        return item
    }
}

extension FileIdentity {
    fileprivate init(_ status: stat) { self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)) }
}
