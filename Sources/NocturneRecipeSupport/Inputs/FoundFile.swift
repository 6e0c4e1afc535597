import NocturneBatch
import NocturneSystem

/// A regular file found in the inputs.
///
/// Takes 16 bytes and those of its name, since a cohort of scans has millions of files: what the files of one folder have in
/// common is kept once. Texts are made when they are asked for.
package struct FoundFile: Sendable {
    private let folder: FoundFolder
    /// Where the name of the file is in ``FoundFolder/names``.
    private let start: Int32
    private let length: Int16
    /// Whether reading the file timed out.
    package var isUnresponsive = false

    /// - Parameters:
    ///   - name: the path relative to the input as given.
    ///   - root: the last component of the input's own path, for files directly in the input folder.
    package init(path: String, name: String, root: String) {
        let fileName = Self.lastComponent(path)
        let isBelow = name.utf8.elementsEqual(fileName.utf8) || name.hasSuffix("/" + fileName)
        folder = FoundFolder(
            prefix: String(path.dropLast(fileName.count)),
            namePrefix: isBelow ? String(name.dropLast(fileName.count)) : "",
            root: root,
            names: Array(fileName.utf8),
            ownName: isBelow ? nil : name
        )
        (start, length) = (0, Int16(clamping: fileName.utf8.count))
    }

    fileprivate init(folder: FoundFolder, start: Int, length: Int) {
        self.folder = folder
        (self.start, self.length) = (Int32(start), Int16(length))
    }

    private var nameBytes: ArraySlice<UInt8> { folder.names[Int(start)..<Int(start) + Int(length)] }

    package var path: String { folder.prefix + fileName }

    /// The path relative to the input as given.
    package var name: String { folder.ownName ?? folder.namePrefix + fileName }

    /// The last component of the input's own path, for files directly in the input folder.
    package var root: String { folder.root }

    /// The last component of the path of the file's folder.
    package var folderName: String {
        let parts = name.split(separator: "/")
        return parts.count > 1 ? String(parts[parts.count - 2]) : root
    }

    /// The full path of the file's folder.
    package var folderPath: String { String(folder.prefix.dropLast()) }

    package var fileName: String { String(decoding: nameBytes, as: UTF8.self) }

    private static func lastComponent(_ path: String) -> Substring {
        path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
    }

    /// A file in the same folder.
    package func neighbour(at path: String) -> FoundFile {
        FoundFile(path: path, name: String(name.dropLast(fileName.count)) + Self.lastComponent(path), root: root)
    }

    /// Identifies the file's version: name, size, modification time, and a digest of the content if the file is small.
    package var stamp: String {
        let input = InputStamp(path)
        var stamp = stampWithoutContent(input)
        if !isUnresponsive, let size = input.size, size <= 64 << 10, let digest = try? FileSystem.digest(input.path) {
            stamp += " \(digest.digest.hex)"
        }
        return stamp
    }

    /// The stamp without the digest, for a file that cannot be read.
    package var stampWithoutContent: String { stampWithoutContent(InputStamp(path)) }

    private func stampWithoutContent(_ input: InputStamp) -> String { "\(name) \(input.text)" }
}

/// By path, as strings compare: the same letters in other Unicode scalars are equal.
extension FoundFile: Comparable {
    package static func < (a: FoundFile, b: FoundFile) -> Bool {
        if a.folder === b.folder, a.folder.isASCII { return a.nameBytes.lexicographicallyPrecedes(b.nameBytes) }
        return a.path < b.path
    }

    package static func == (a: FoundFile, b: FoundFile) -> Bool {
        if a.folder === b.folder, a.start == b.start { return a.isUnresponsive == b.isUnresponsive }
        return a.path == b.path && a.name == b.name && a.root == b.root && a.isUnresponsive == b.isUnresponsive
    }
}

extension FoundFile: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

// MARK: Packing

extension FoundFile {
    /// Files in one buffer: those of a folder that follow each other have what they share once.
    package static func packed(_ files: [FoundFile]) -> [UInt8] {
        var groups: [[String]] = []
        var last: FoundFolder?
        for file in files {
            let folder = file.folder
            if folder !== last || folder.ownName != nil {
                let own = folder.ownName.map { [$0] } ?? []
                groups.append([folder.prefix, folder.namePrefix, folder.root, own.isEmpty ? "" : "own"] + own)
                last = folder
            }
            groups[groups.count - 1] += [file.fileName, file.isUnresponsive ? "unresponsive" : ""]
        }
        return Array(PackedFields(groups.map { Array(PackedFields(list: $0).packed) }).packed)
    }

    /// - Parameter packed: what ``packed(_:)`` has given.
    package static func files(packed: ArraySlice<UInt8>) -> [FoundFile] {
        PackedFields(packed: packed).fields.flatMap { group -> [FoundFile] in
            let texts = PackedFields(packed: group).texts
            let ownName = texts[3].isEmpty ? nil : texts[4]
            let rest = texts.dropFirst(ownName == nil ? 4 : 5)
            let names = stride(from: rest.startIndex, to: rest.endIndex, by: 2).map { rest[$0] }
            let folder = FoundFolder(
                prefix: texts[0],
                namePrefix: texts[1],
                root: texts[2],
                names: names.flatMap(\.utf8),
                ownName: ownName
            )
            var start = 0
            return names.enumerated().map { place, name in
                defer { start += name.utf8.count }
                var file = FoundFile(folder: folder, start: start, length: name.utf8.count)
                file.isUnresponsive = !rest[rest.startIndex + 2 * place + 1].isEmpty
                return file
            }
        }
    }
}

/// What the files of a folder have in common, and their names.
package final class FoundFolder: Sendable {
    /// What the paths of its files begin with: empty, or a path that ends with "/".
    fileprivate let prefix: String
    /// The same for the paths relative to the input.
    fileprivate let namePrefix: String
    fileprivate let root: String
    /// The names of its files one after the other, without anything between them.
    fileprivate let names: [UInt8]
    /// The relative path of its only file where that does not end with the file's name.
    fileprivate let ownName: String?
    fileprivate let isASCII: Bool

    fileprivate init(prefix: String, namePrefix: String, root: String, names: [UInt8], ownName: String? = nil) {
        (self.prefix, self.namePrefix, self.root) = (prefix, namePrefix, root)
        (self.names, self.ownName) = (names, ownName)
        isASCII = names.allSatisfy { $0 < 128 }
    }

    /// - Parameters:
    ///   - path: of the folder.
    ///   - name: its path relative to the input; empty for the input itself.
    /// - Returns: a file for each of `names`, in their order.
    package static func files(of path: String, name: String, root: String, names: [String]) -> [FoundFile] {
        let folder = FoundFolder(
            prefix: path + "/",
            namePrefix: name.isEmpty ? "" : name + "/",
            root: root,
            names: names.flatMap(\.utf8)
        )
        var start = 0
        return names.map { name in
            defer { start += name.utf8.count }
            return FoundFile(folder: folder, start: start, length: name.utf8.count)
        }
    }
}

/// Files sorted by path, each once, of which one is found by its path without a table.
package struct FoundFiles: Sendable, RandomAccessCollection {
    private let files: [FoundFile]

    /// - Parameter files: in any order. Of equal paths the first is kept.
    package init(_ files: [FoundFile]) {
        let isSorted = zip(files, files.dropFirst()).allSatisfy { $0 < $1 }
        guard !isSorted else {
            self.files = files
            return
        }
        var sorted: [FoundFile] = []
        // The sort is stable.
        for file in files.sorted() where !(sorted.last.map { !($0 < file) } ?? false) { sorted.append(file) }
        self.files = sorted
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { files.count }
    package subscript(place: Int) -> FoundFile { files[place] }

    /// The file at a path; nil if it is not among them.
    package subscript(path: String) -> FoundFile? {
        let place = files.prefixCount { $0.path < path }
        return place < files.count && files[place].path == path ? files[place] : nil
    }

    /// Their paths, made one by one.
    package var paths: Paths { Paths(files: files) }

    package struct Paths: Sendable, RandomAccessCollection {
        fileprivate let files: [FoundFile]

        package var startIndex: Int { 0 }
        package var endIndex: Int { files.count }
        package subscript(place: Int) -> String { files[place].path }
    }

    /// With others, which replace those of equal paths.
    package func merging(_ others: [FoundFile]) -> FoundFiles { others.isEmpty ? self : FoundFiles(others + files) }
}
