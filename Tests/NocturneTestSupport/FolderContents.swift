#if canImport(Glibc)
    import Glibc
#endif

/// Everything in a folder as it is, to be compared with what it is later: bytes, targets of links, permissions. Reads with
/// calls of its own, so that it does not depend on what is tested.
public struct FolderContents: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        public let mode: UInt32
        public let content: [UInt8]
    }

    /// By relative path.
    public var entries: [[UInt8]: Entry] = [:]

    /// - Parameter leaves: relative paths that are left out, with all below them.
    public init(of folder: String, without leaves: Set<String> = []) {
        add(folder, "", Set(leaves.map { Array($0.utf8) }))
    }

    private mutating func add(_ folder: String, _ prefix: String, _ leaves: Set<[UInt8]>) {
        guard let stream = opendir(folder) else { return }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name == [46] || name == [46, 46] { continue }
            let relative = Array(prefix.utf8) + name
            if leaves.contains(relative) { continue }
            add((Array(folder.utf8) + [47] + name + [0]).map(CChar.init(bitPattern:)), relative, leaves)
        }
    }

    private mutating func add(_ path: [CChar], _ relative: [UInt8], _ leaves: Set<[UInt8]>) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        var content: [UInt8] = []
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            let folder = path.dropLast().map(UInt8.init(bitPattern:))
            add(String(decoding: folder, as: UTF8.self), String(decoding: relative, as: UTF8.self) + "/", leaves)
        case S_IFLNK:
            content = [UInt8](repeating: 0, count: 4096)
            let count = content.withUnsafeMutableBytes { readlink(path, $0.baseAddress!, $0.count) }
            content.removeLast(content.count - max(count, 0))
        case S_IFREG:
            content = [UInt8](repeating: 0, count: Int(status.st_size))
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            let count = content.withUnsafeMutableBytes { read(descriptor, $0.baseAddress!, $0.count) }
            content.removeLast(content.count - max(count, 0))
            close(descriptor)
        default: break
        }
        entries[relative] = Entry(mode: UInt32(status.st_mode), content: content)
    }
}
