import CPosix

/// A file that is written in parts, and takes its place at once when it is whole. Until then it has a temporary name.
public struct ReplacementFile: ~Copyable {
    private let path: String
    let file: FileDescriptor

    private var temporary: String { path + ".part" }

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
