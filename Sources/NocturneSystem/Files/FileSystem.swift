import CPosix
import Glibc

/// The few system calls that the commit protocol stands on.
public enum FileSystem {
    /// Writes a file whole and flushes it, under a temporary name until it is there.
    /// The folder is not flushed: the new name is durable after ``flush(_:)`` of the folder or
    /// ``flushAll(holding:)``.
    public static func replace(_ path: String, with bytes: [UInt8], flush: Bool = true) throws(FileSystemError) {
        try replace(path, flush: flush) { (file) throws(FileSystemError) in try file.write(bytes) }
    }

    /// Copies a file whole, as ``replace(_:with:flush:)`` writes it. Where the file system can, both files share their blocks
    /// until one of them is changed.
    public static func copy(_ path: String, to place: String, flush: Bool = true) throws(FileSystemError) {
        let source = try FileDescriptor(reading: path)
        try replace(place, flush: flush) { (copy) throws(FileSystemError) in
            if copy.shareBlocks(of: source) { return }
            try source.forEachPiece(of: 1 << 20) { (piece) throws(FileSystemError) in
                try copy.write(piece)
                return true
            }
        }
    }

    private static func replace(
        _ path: String,
        flush: Bool,
        content: (borrowing FileDescriptor) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        let new = try ReplacementFile(for: path)
        try content(new.file)
        try new.putInPlace(flush: flush)
    }

    /// Writes a file whole. A link that lies there is not followed.
    public static func write(_ path: String, _ bytes: [UInt8], flush: Bool = false) throws(FileSystemError) {
        let file = try FileDescriptor(creating: path, followsLinks: false)
        try file.write(bytes)
        if flush { try file.flush() }
    }

    /// Makes an empty file where there is none. A link that lies there is not followed.
    public static func touch(_ path: String, mode: UInt32) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads a file whole; for files of known small size.
    /// - Throws: `EFBIG` for more than `limit` bytes; `ENOTSUP` for what is not accepted.
    public static func read(
        _ path: String,
        limit: Int = 64 << 20,
        accepts accepted: FileDescriptor.Accepted = .files
    ) throws(FileSystemError) -> [UInt8] {
        try FileDescriptor(reading: path, accepts: accepted).readToEnd(limit: limit)
    }

    /// Flushes a file or folder.
    public static func flush(_ path: String) throws(FileSystemError) {
        try FileDescriptor(reading: path, accepts: .anything).flush()
    }

    /// Flushes the whole file system that holds `path`: one wait for any number of files.
    public static func flushAll(holding path: String) throws(FileSystemError) {
        let file = try FileDescriptor(reading: path, accepts: .anything)
        let code = FaultPoint.diskFlush.code { file.withNumber { cposix_syncfs($0) } }
        guard code == 0 else { throw FileSystemError(operation: "flush", path: path, code: code) }
    }

    /// Size in bytes, or nil when there is no such regular file.
    public static func size(_ path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return Int(status.st_size)
    }

    /// The largest size in bytes of a file that this process may write (`ulimit -f`); nil without a limit.
    public static var sizeLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return nil }
        // The largest number stands for no limit.
        return Int(exactly: limit.rlim_cur)
    }

    /// Whether something is there; links are followed.
    public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Whether a folder is there; links are followed.
    public static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The path without its last component; empty for a single one. Foundation's `deletingLastPathComponent` traps for a relative
    /// path of one character.
    public static func parent(of path: String) -> String {
        let whole = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard let slash = whole.lastIndex(of: "/") else { return "" }
        return slash == whole.startIndex ? "/" : String(whole[..<slash])
    }

    /// The path itself, or the nearest folder above it that exists.
    public static func nearest(to path: String) -> String {
        var place = path
        while !exists(place), case let above = parent(of: place), !above.isEmpty { place = above }
        return place
    }

    /// Makes a folder, where there is none. A link to one is none.
    public static func makeFolder(_ path: String, mode: UInt32 = 0o777) throws(FileSystemError) {
        guard FaultPoint.folderCreate.call({ mkdir(path, mode) }) != 0 else { return }
        let code = errno
        guard code != EEXIST || kind(path) != .folder else { return }
        throw FileSystemError(operation: "make the folder", path: path, code: code == EEXIST ? ENOTDIR : code)
    }

    /// Renames a file or folder within one file system; nothing may be at the new place.
    public static func move(_ from: String, to place: String) throws(FileSystemError) {
        let code = FaultPoint.fileRename.code { cposix_rename(from, place, 0) }
        guard code == 0 else { throw FileSystemError(operation: "move to its place", path: place, code: code) }
    }

    /// The names in a folder, sorted; empty when it cannot be read.
    public static func entries(_ path: String) -> [String] { listing(path).names }

    /// The names in a folder, sorted, and those that are not UTF-8: such a name is shown with `\xE4` for the bytes in question,
    /// and cannot be used. The fault is the system's code where the list was not read to its end.
    public static func listing(_ path: String) -> (names: [String], unusable: [String], fault: Int32?) {
        guard let folder = opendir(path) else { return ([], [], errno) }
        defer { closedir(folder) }
        var names: [String] = []
        var unusable: [String] = []
        let fault = OpenFolder.forEachName(in: folder) { bytes in
            if let name = String(validating: bytes, as: UTF8.self) {
                names.append(name)
            } else {
                unusable.append(escaped(bytes))
            }
        }
        names.sort()
        return (names, unusable.sorted(), fault)
    }

    /// A name with everything but printable ASCII written as the number of the byte.
    public static func escaped(_ name: some Sequence<UInt8>) -> String {
        name.map { byte in
            (0x20..<0x7F).contains(byte)
                ? String(UnicodeScalar(byte))
                : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// Makes an empty folder, where anything may lie, which is removed before.
    /// - Throws: `FileSystemError` where something of it stays: it would become part of what is written there.
    public static func makeEmptyFolder(_ path: String, mode: UInt32 = 0o777) throws(FileSystemError) {
        if let left = remove(path) { throw left }
        try makeFolder(path, mode: mode)
    }

    /// Makes the folders of a relative path below one that is there. A link among them is refused.
    public static func makeFolders(_ relative: some StringProtocol, in folder: String) throws(FileSystemError) {
        var path = folder
        for part in relative.split(separator: "/") {
            path += "/" + part
            try makeFolder(path)
        }
    }

    /// Moves a folder to its final name in one step; what was there before changes places with it, and then lies at `old`,
    /// or at `from` if it cannot be moved there.
    ///
    /// File systems that cannot exchange names (NFS, some FUSE) get two renames instead: killed between them, the item
    /// is not there, and is done again.
    public static func putInPlace(_ from: String, at final: String, movingOldTo old: String) throws(FileSystemError) {
        // Flag 1 is RENAME_EXCHANGE.
        func rename(_ from: String, _ to: String, exchanging: Bool = false) -> Int32 {
            FaultPoint.itemExchange.code { cposix_rename(from, to, exchanging ? 1 : 0) }
        }
        func check(_ code: Int32) throws(FileSystemError) {
            guard code == 0 else { throw FileSystemError(operation: "rename into place", path: final, code: code) }
        }
        // What is left there matters only where names cannot be exchanged: then `old` has to be free.
        let left = remove(old)
        guard kind(final) != .nothing else { return try check(rename(from, final)) }
        let code = rename(from, final, exchanging: true)
        if [EINVAL, ENOSYS, EOPNOTSUPP].contains(code) {
            if let left { throw left }
            try check(rename(final, old))
            try check(rename(from, final))
        } else {
            try check(code)
            // It is done. Where what was there before cannot be moved on, it stays at `from`.
            _ = rename(from, old)
        }
    }

    /// The SHA-256 of a file, read in pieces.
    /// - Parameter goesOn: asked before each piece; when it returns false, only what was read so far is hashed.
    public static func digest(
        _ path: String,
        while goesOn: () -> Bool = { true }
    ) throws(FileSystemError) -> (bytes: Int, digest: ContentDigest) {
        let file = try FileDescriptor(reading: path)
        var digester = ContentDigester()
        var total = 0
        guard goesOn() else { return (total, digester.finish()) }
        try file.forEachPiece { piece throws(FileSystemError) in
            digester.update(piece)
            total += piece.count
            return goesOn()
        }
        return (total, digester.finish())
    }

    /// What lies at a path, without following a link.
    public enum Kind: Sendable {
        case nothing, file, folder
        /// A link, pipe, socket or device.
        case other
    }

    /// `nothing` also where the system does not let this user look.
    public static func kind(_ path: String) -> Kind {
        var status = stat()
        return lstat(path, &status) == 0 ? Kind(status) : .nothing
    }
}

/// A file that is written in parts, and takes its place at once when it is whole. Until then it has a temporary name.
///
/// A class, so that a table can hold several of which some are optional: collections take no values that cannot be copied.
///
/// ```swift
/// let table = try ReplacementFile(for: "/out/statistics.csv")
/// for row in rows { try table.write(Array((row + "\n").utf8)) }
/// try table.putInPlace()
/// ```
///
/// A file that is never put in its place stays under its temporary name, with `.part` at the end; the next one for
/// the same path empties it.
public final class ReplacementFile {
    private let path: String
    let file: FileDescriptor

    private var temporary: String { path + ".part" }

    /// Begins the file under its temporary name. A link that lies there is removed, so that nothing is written elsewhere.
    public init(for path: String) throws(FileSystemError) {
        self.path = path
        let temporary = path + ".part"
        if FileSystem.kind(temporary) == .other { FileSystem.remove(temporary) }
        file = try FileDescriptor(creating: temporary, followsLinks: false)
    }

    /// Adds to the end.
    public func write(_ bytes: [UInt8]) throws(FileSystemError) { try file.write(bytes) }

    /// Gives the file its name, instead of a file that has it.
    public func putInPlace(flush: Bool = true) throws(FileSystemError) {
        if flush { try file.flush() }
        let code = FaultPoint.fileRename.code { cposix_rename(temporary, path, 0) }
        guard code == 0 else { throw FileSystemError(operation: "rename", path: path, code: code) }
    }
}
