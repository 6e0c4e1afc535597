internal import Glibc

/// An open folder. What is in it is listed, examined, opened and removed by its name below this folder: no link in it is
/// followed, whatever somebody does to the path meanwhile.
struct OpenFolder: ~Copyable {
    /// The name of an entry as the system has it, which need not be UTF-8, with the closing zero.
    typealias Name = [CChar]

    /// For messages.
    let path: String
    private let number: Int32

    /// `O_PATH` of Linux, whose definition Swift does not import: a folder that cannot be listed can be opened.
    private static let forEntries: Int32 = 0o10_000_000

    /// - Parameter path: links on the way are followed, and a link to a folder at its end.
    init(_ path: String) throws(FileSystemError) {
        self.path = path
        number = Glibc.open(path, Self.forEntries | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw FileSystemError(.open, path: path, code: errno) }
    }

    /// A folder in another one.
    /// - Throws: `FileSystemError`, with `ENOTDIR` for a link.
    init(_ name: Name, in parent: borrowing OpenFolder) throws(FileSystemError) {
        path = parent.path(of: name)
        number = openat(parent.number, name, Self.forEntries | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw FileSystemError(.open, path: path, code: errno) }
    }

    deinit {
        if number >= 0 { _ = close(number) }
    }

    func path(of name: Name) -> String { path + "/" + Self.text(name) }

    /// A name for people: bytes that are not UTF-8 are shown by their numbers.
    static func text(_ name: Name) -> String {
        let bytes = name.dropLast().map { UInt8(bitPattern: $0) }
        return String(validating: bytes, as: UTF8.self) ?? FileSystem.escaped(bytes)
    }

    /// What an entry is; `nothing` for none.
    func kind(of name: Name) throws(FileSystemError) -> FileSystem.Kind {
        var status = stat()
        if fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return FileSystem.Kind(status) }
        let code = errno
        guard code == ENOENT else { throw FileSystemError(.examine, path: path(of: name), code: code) }
        return .nothing
    }

    /// All entries in the system's order, and the error that ended the list early.
    func names() -> (names: [Name], fault: FileSystemError?) {
        let copy = openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return ([], FileSystemError(operation: "list", path: path, code: errno)) }
        guard let stream = fdopendir(copy) else {
            let code = errno
            close(copy)
            return ([], FileSystemError(operation: "list", path: path, code: code))
        }
        defer { closedir(stream) }
        var names: [Name] = []
        let fault = Self.forEachName(in: stream) { names.append($0.map(CChar.init(bitPattern:)) + [0]) }
        return (names, fault.map { FileSystemError(operation: "list", path: path, code: $0) })
    }

    /// Calls `body` with the bytes of each entry of an open list but `.` and `..`, without the final zero.
    /// - Returns: the system's code where the list was not read to its end.
    static func forEachName(in stream: OpaquePointer, _ body: (UnsafeRawBufferPointer) -> Void) -> Int32? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else { return errno == 0 ? nil : errno }
            withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                let name = UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
                if !name.elementsEqual([46]) && !name.elementsEqual([46, 46]) { body(name) }
            }
        }
    }

    /// Removes one entry: a file, a link, or a folder that is empty.
    /// - Returns: the system's code; 0 when it is gone.
    func remove(_ name: Name, isFolder: Bool) -> Int32 {
        unlinkat(number, name, isFolder ? AT_REMOVEDIR : 0) == 0 ? 0 : errno
    }
}

extension FileSystem.Kind {
    init(_ status: stat) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file
        case S_IFDIR: self = .folder
        default: self = .other
        }
    }
}
