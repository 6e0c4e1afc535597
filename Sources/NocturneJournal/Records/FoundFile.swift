import Glibc
import NocturneSystem

/// A regular file found in the inputs.
public struct FoundFile: Sendable, Hashable {
    /// By which it is opened.
    public let path: String
    /// The path relative to the input as given.
    public let name: String
    /// The last component of the input's own path, for files directly in the input folder.
    public let root: String
    /// Whether reading the file timed out.
    public var isUnresponsive = false

    /// - Parameters:
    ///   - path: by which the file is opened.
    ///   - name: the path relative to the input as given.
    ///   - root: the last component of the input's own path.
    public init(path: String, name: String, root: String) { (self.path, self.name, self.root) = (path, name, root) }

    /// The last component of the path.
    public var fileName: String { String(Self.lastComponent(path)) }

    /// The last component of the path of the file's folder.
    public var folderName: String {
        let parts = name.split(separator: "/")
        return parts.count > 1 ? String(parts[parts.count - 2]) : root
    }

    /// The full path of the file's folder.
    public var folderPath: String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
    }

    private static func lastComponent(_ path: String) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? Substring(path)
    }

    /// A file in the same folder.
    public func neighbour(at path: String) -> FoundFile {
        let end = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name.utf8.index(after: $0) } ?? name.startIndex
        return FoundFile(path: path, name: String(name[..<end]) + Self.lastComponent(path), root: root)
    }

    /// Looks at the file once, and reads it if it has at most 64 KiB.
    public var stamp: Stamp {
        let input = InputStamp(path)
        let text = "\(name) \(input.text)"
        // A small file may change without another size or time, and its digest costs little. A file of /proc has the size 0, and may
        // have content without end.
        let limit = 64 << 10
        guard !isUnresponsive, let size = input.size, size <= limit,
            let bytes = try? FileSystem.read(path, limit: limit)
        else { return Stamp(input: input, text: text) }
        return Stamp(input: input, text: text + " \(ContentDigest.of(bytes).hex)")
    }

    /// What identifies the version of a file.
    public struct Stamp: Sendable {
        /// As the journal keeps it.
        public let input: InputStamp
        /// For fingerprints: name, size, modification time, and a digest of the content if the file is small.
        public let text: String
    }
}

/// By path, as strings compare: the same letters in other Unicode scalars are equal.
extension FoundFile: Comparable {
    public static func < (a: FoundFile, b: FoundFile) -> Bool { a.path < b.path }
}

/// What all names of one file have in common.
package struct FileIdentity: Sendable, Hashable {
    /// The number of the file system, as `stat` has it.
    package let device: UInt64
    /// The number within the file system.
    package let inode: UInt64

    /// Both numbers as `stat` returns them.
    package init(device: UInt64, inode: UInt64) { (self.device, self.inode) = (device, inode) }

    /// Nil where there is no file.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }
}

/// What a file is to the recipe that was asked about it.
public enum FileClaim: Sendable {
    /// Its items are made of this file and all others of one family, together.
    /// - Parameter family: nil for a file that is a family by itself.
    case member(family: String?)
    /// A file that lists others, which are offered to all recipes too: a family by itself.
    case directory(of: [FoundFile])
    /// It belongs to another file or is excluded, and is not mentioned.
    case companion
    /// The recipe has no use for it. Where all recipes have none, the reasons are reported together.
    case none(ItemReason)
}
