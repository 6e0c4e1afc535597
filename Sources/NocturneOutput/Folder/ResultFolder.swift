import Foundation
import Glibc
package import NocturneJournal
package import NocturneSystem

/// Files of a result that show it, and without which its labels and measures are complete.
public enum DisplayFiles: String, Sendable, Hashable, CaseIterable {
    case meshes, pictures

    /// Whether a file is one of these, by its path in a result: the layout is the same for all kinds of models. Crops and thumbnails of
    /// photos are not: tables and contact sheets refer to them.
    package func contains(_ path: String) -> Bool {
        switch self {
        case .meshes: path.hasPrefix("meshes/")
        case .pictures:
            // The label map of a photo is a picture file; review.js is the volume that the page shows.
            !["labels.png", "thumbnail.png"].contains(path) && !path.contains("/")
                && [".png", ".jpg", ".js"].contains(where: path.hasSuffix)
        }
    }

    /// Whether a file shows a result, by its path there.
    package static func contain(_ path: String) -> Bool { allCases.contains { $0.contains(path) } }
}

/// A folder that is, or may be, the result of an item: what in it was written by Nocturne, and what by others.
package struct ResultFolder {
    /// Of the folder, which need not exist.
    package let path: String

    /// Looks at nothing yet: whether there is a result is found out by ``writtenFiles()``.
    package init(_ path: String) { self.path = path }

    /// What results of all recipes have in their `result.json`.
    private struct Record: Decodable {
        let fingerprint: String
        let files: [ItemFile]
    }

    /// Of a `result.json` that can be read, whatever program wrote it.
    package var fingerprint: String? { record?.fingerprint }

    /// Whether another result has the same values, and files with the same digests: only the fingerprints may differ, as where a source
    /// was copied, and DICOM objects, whose UIDs are made from them.
    package func isEqual(to other: ResultFolder) -> Bool {
        guard let own = statements, let others = other.statements else { return false }
        return own == others
    }

    /// `result.json` without its fingerprints, which have the times of the sources, and without DICOM files.
    private var statements: [String: JSONValue]? {
        guard let bytes = try? FileSystem.read(path + "/result.json"),
            case .object(var members)? = try? JSONValue(parsing: bytes)
        else { return nil }
        for name in ["fingerprint", "labelsFingerprint"] { members[name] = nil }
        if case .array(let files)? = members["files"] {
            members["files"] = .array(files.filter { $0["path"]?.text?.hasSuffix(".dcm") != true })
        }
        return members
    }

    private var record: Record? {
        guard let bytes = try? FileSystem.read(path + "/result.json") else { return nil }
        return try? JSONDecoder().decode(Record.self, from: Data(bytes))
    }

    /// Flushes every file and folder.
    package func flush() throws(FileSystemError) {
        var folders: Set<String> = []
        for file in FileSystem.files(below: path) {
            // Files before their folders: a name that is durable must not lead to a file that is not.
            try FileSystem.flush(path + "/" + file)
            for parent in Self.parents(of: file) { folders.insert(parent) }
        }
        for inner in folders.sorted() { try FileSystem.flush(path + "/" + inner) }
        try FileSystem.flush(path)
    }

    /// Copies a file to the same relative path in another folder, without a flush.
    package func copy(_ file: String, to folder: String) throws(FileSystemError) {
        try FileSystem.makeFolders(Self.parents(of: file).first ?? "", in: folder)
        try FileSystem.copy(path + "/" + file, to: folder + "/" + file, flush: false)
    }

    /// The files that Nocturne wrote, if the folder proves to be a result: its `result.json` lists its files, and every one
    /// of them is there with its digest. Nil for anything else, another program's `result.json` among it.
    package func writtenFiles() -> [ItemFile]? {
        unchangedFiles().flatMap { unchanged, isWhole in isWhole ? unchanged : nil }
    }

    /// The files that `result.json` lists and that have their digests, with itself; and whether these are all. Nil for a folder that
    /// has no result.
    package func unchangedFiles() -> (files: [ItemFile], isWhole: Bool)? {
        guard let own = digest(of: "result.json"), FileSystem.kind(path + "/run.json") == .file, let record,
            record.fingerprint.utf8.count == 64
        else { return nil }
        let unchanged = record.files.filter(isUnchanged)
        return (unchanged + [own], unchanged.count == record.files.count)
    }

    /// The seconds that each stage took, as `run.json` has them; nil for a folder without this record.
    package func stageSeconds() -> [String: Double]? {
        struct Run: Decodable { let seconds: [String: Double] }
        guard let bytes = try? FileSystem.read(path + "/run.json", limit: 1 << 20) else { return nil }
        return try? JSONDecoder().decode(Run.self, from: Data(bytes)).seconds
    }

    /// Removes files that `result.json` lists, and that are as it lists them, but for some; then folders that are empty.
    /// - Parameter kept: the files that the result is to have, among them `result.json` as it is.
    /// - Returns: what stays although it was to go.
    package func removeFiles(but kept: [ItemFile]) -> [FileSystemError] {
        // A result that somebody has changed or removed stays as it is.
        guard kept.contains(where: { $0.path == "result.json" && isUnchanged($0) }) else { return [] }
        let (bytes, present): ([UInt8], Set<String>)
        do throws(FileSystemError) {
            // Below no link.
            (bytes, present) = (try FileSystem.read(path + "/result.json"), Set(try entries()))
        } catch {
            return [error]
        }
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)) else { return [] }
        let paths = Set(kept.map(\.path))
        let unwanted = record.files.filter {
            !paths.contains($0.path) && present.contains($0.path) && isUnchanged($0)
        }
        let left = unwanted.compactMap { FileSystem.remove(path + "/" + $0.path) }
        let folders = Set(unwanted.flatMap { Self.parents(of: $0.path) })
        for folder in folders.sorted(by: >) { FileSystem.removeEmptyFolder(path + "/" + folder) }
        return left
    }

    /// Files and links that are none of `written`, or that somebody has changed since, as relative paths.
    /// - Throws: `FileSystemError` when there is a name that cannot be handled; then nothing may be replaced.
    package func foreignEntries(written: [ItemFile]) throws(FileSystemError) -> [String] {
        let own = Dictionary(written.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        return try entries().filter { entry in
            if entry == "run.json" { return FileSystem.kind(path + "/run.json") != .file }
            return own[entry].map { !isUnchanged($0) } ?? true
        }
    }

    /// Whether a file has this size and digest.
    package func isUnchanged(_ file: ItemFile) -> Bool {
        FileSystem.size(path + "/" + file.path) == file.bytes && digest(of: file.path) == file
    }

    private func digest(of file: String) -> ItemFile? {
        guard FileSystem.kind(path + "/" + file) == .file,
            let (bytes, digest) = try? FileSystem.digest(path + "/" + file)
        else { return nil }
        return ItemFile(path: file, bytes: bytes, sha256: digest.hex)
    }

    /// All that is below the folder but folders.
    private func entries() throws(FileSystemError) -> [String] {
        let tree = FileSystem.tree(of: path)
        if let fault = tree.faults.first { throw fault }
        if let name = tree.unusable.first {
            throw FileSystemError(operation: "keep a file with this name", path: path + "/" + name, code: EILSEQ)
        }
        return tree.entries.map(\.path)
    }

    /// The folders of a relative path, the innermost first.
    package static func parents(of path: String) -> [String] {
        var parents: [String] = []
        var rest = path
        while let slash = rest.lastIndex(of: "/") {
            rest = String(rest[..<slash])
            parents.append(rest)
        }
        return parents
    }
}

/// Taking files over from a folder that is about to be replaced.
extension ResultFolder {
    /// Gives every one of `entries` a second name: the same path in `new`, or one below `aside` where the new result has
    /// something else. The first names stay, so nothing is lost whenever the process ends. Durable on return.
    /// - Returns: the paths of those that had to go aside.
    package func keep(_ entries: [String], in new: ResultFolder, aside: String) throws(FileSystemError) -> [String] {
        var moved: [String] = []
        for entry in entries {
            if try link(entry, to: new.path) { continue }
            try FileSystem.makeFolder((aside as NSString).deletingLastPathComponent)
            var place = aside
            var number = 2
            while try !link(entry, to: place) {
                place = "\(aside)-\(number)"
                number += 1
            }
            try ResultFolder(place).flush()
            moved.append(place + "/" + entry)
        }
        if !entries.isEmpty { try new.flush() }
        return moved
    }

    /// - Parameter folder: made where it is not there; never a link.
    /// - Returns: false when something else has that path.
    private func link(_ entry: String, to folder: String) throws(FileSystemError) -> Bool {
        let (source, target) = (path + "/" + entry, folder + "/" + entry)
        let parents = Self.parents(of: entry)
        let isBlocked = ([folder] + parents.map { folder + "/" + $0 }).contains { parent in
            ![.folder, .nothing].contains(FileSystem.kind(parent))
        }
        if isBlocked { return false }
        if FileSystem.kind(target) != .nothing { return isSame(source, target) }
        try FileSystem.makeFolder(folder)
        try FileSystem.makeFolders(parents.first ?? "", in: folder)
        if linkat(AT_FDCWD, source, AT_FDCWD, target, 0) == 0 { return true }
        // File systems without hard links.
        guard FileSystem.kind(source) == .file else {
            throw FileSystemError(operation: "keep", path: source, code: errno)
        }
        try FileSystem.copy(source, to: target)
        return true
    }

    /// Whether both names belong to one file: it was kept before.
    private func isSame(_ first: String, _ second: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard lstat(first, &one) == 0, lstat(second, &other) == 0 else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }
}
