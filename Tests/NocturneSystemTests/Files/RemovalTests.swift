import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Removing")
struct RemovalTests {
    private func make(_ folder: TemporaryFolder, links: [String: String] = [:], _ files: String...) throws {
        for file in files { try folder.write("bytes of \(file)", to: file) }
        for (link, target) in links { #expect(symlink(target, folder(link).path) == 0) }
    }

    @Test(
        "a link that cannot be removed stays, and so does what it leads to",
        .enabled(if: ImmutableAttribute.isAvailable)
    )
    func linkThatStays() throws {
        let folder = try TemporaryFolder()
        try make(folder, "scans/a.dcm", "scans/deep/b.dcm", "result/notes/text", "result/label")
        try make(folder, links: ["result/notes/scans": folder("scans").path])
        let before = FolderContents(of: folder("scans").path)
        #expect(ImmutableAttribute.set(true, on: folder("result/notes").path))
        defer { ImmutableAttribute.set(false, on: folder("result/notes").path) }
        let left = FileSystem.remove(folder("result").path)
        #expect(
            left?.code == EPERM && left?.path.hasPrefix(folder("result/notes/").path) == true,
            "\(String(describing: left))"
        )
        #expect(FolderContents(of: folder("scans").path) == before)
        // The rest is gone.
        #expect(FileSystem.tree(below: folder("result").path).sorted() == ["notes/scans", "notes/text"])
        ImmutableAttribute.set(false, on: folder("result/notes").path)
        #expect(FileSystem.remove(folder("result").path) == nil)
        #expect(FolderContents(of: folder.path).entries.count == before.entries.count + 1)
    }

    @Test(
        "a failure of any call is taken for what it is",
        arguments: FileSystem.RemovalCall.allCases,
        [EIO, EISDIR, EPERM]
    )
    func failures(call: FileSystem.RemovalCall, code: Int32) throws {
        let folder = try TemporaryFolder()
        try make(folder, "scans/a", "result/b")
        try make(folder, links: ["result/link": "../scans", "link": "scans"])
        let link = FileSystem.remove(folder("link").path) { at, _ in at == call ? code : nil }
        let isCalled = call == .examine || call == .remove
        #expect(link?.code == (isCalled ? code : nil))
        let tree = FileSystem.remove(folder("result").path) { at, path in
            at == call && !path.hasSuffix("/b") ? code : nil
        }
        #expect(tree?.code == code)
        #expect(FileSystem.kind(folder("scans/a").path) == .file)
    }

    @Test("only what is there and has a name: nothing, a path through a file, dots and slashes at the end")
    func places() throws {
        let folder = try TemporaryFolder()
        try make(folder, "a/b/c", "file")
        for path in ["none", "none/deeper", "file/below"] { #expect(FileSystem.remove(folder(path).path) == nil) }
        for path in ["", folder.path + "/a/..", folder.path + "/a/."] {
            #expect(FileSystem.remove(path)?.code == EINVAL, "\(path)")
        }
        #expect(FileSystem.tree(below: folder.path) == ["a/b/c", "file"])
        FileSystem.removeEmptyFolder(folder("a").path)
        FileSystem.removeEmptyFolder(folder("file").path)
        #expect(FileSystem.tree(below: folder.path) == ["a/b/c", "file"])
        #expect(FileSystem.remove(folder.path + "/a/b//") == nil)
        FileSystem.removeEmptyFolder(folder("a").path)
        #expect(FileSystem.kind(folder("a").path) == .nothing)
    }

    @Test("names that are no UTF-8, pipes, deep folders, and folders that cannot be listed but are empty")
    func unusual() throws {
        let folder = try TemporaryFolder()
        try make(folder, "a/plain")
        let bytes = Array(folder("a").path.utf8CString.dropLast()) + [47, CChar(bitPattern: 0xE4), 0]
        #expect(mkdir(bytes, 0o755) == 0)
        #expect(mkfifo(folder("a/pipe").path, 0o600) == 0)
        #expect(FileSystem.tree(below: folder("a").path) == ["pipe", "plain", "\\xE4"])
        let deep = (0..<300).reduce(folder("a").path) { path, _ in path + "/d" }
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        #expect(FileSystem.remove(folder("a").path) == nil)
        #expect(FileSystem.entries(folder.path).isEmpty)
        try make(folder, "b/c/d")
        func remove() -> FileSystemError? {
            FileSystem.remove(folder("b").path) { at, path in at == .list && path.hasSuffix("c") ? EACCES : nil }
        }
        #expect(remove()?.code == EACCES)
        #expect(FileSystem.remove(folder("b/c/d").path) == nil)
        #expect(remove() == nil && FileSystem.kind(folder("b").path) == .nothing)
    }

    @Test("A fault can be injected at each call of the program")
    func injected() {
        #expect(FileSystem.RemovalCall.allCases.map(\.rawValue) == ["examine", "open", "list", "remove"])
    }

    @Test("Whatever lies there and whatever fails, every byte outside of what is removed or moved stays: 2,400 trees")
    func property() throws {
        let folder = try TemporaryFolder()
        let canBeImmutable = ImmutableAttribute.isAvailable
        for seed in 0..<2400 {
            var random = SplitMix64(seed: UInt64(seed))
            let root = folder.path + "/\(seed)"
            let tree = RandomTree(in: root, canBeImmutable && seed % 3 == 0, &random)
            let failing = seed % 2 == 0 ? tree.failures(&random) : { _, _ in nil }
            if seed % 5 == 0 {
                try tree.checkMove("seed \(seed)")
            } else {
                tree.checkRemoval("seed \(seed)", failing)
            }
            tree.makeRemovable()
            #expect(FileSystem.remove(root) == nil, "seed \(seed)")
        }
        #expect(FileSystem.entries(folder.path).isEmpty)
    }
}
