import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite("Only regular files are read, and what else lies there is known before it can delay anybody")
struct FileKindTests {
    @Test(
        "the folder of a path, also of one character",
        arguments: [
            ("m", ""), ("m/", ""), ("a/b", "a"), ("a/b/", "a"), ("/a", "/"), ("/a/b", "/a"), ("", ""), ("/", "/"),
            ("./m", "."),
        ]
    )
    func parent(path: String, folder: String) { #expect(FileSystem.parent(of: path) == folder) }

    @Test("The nearest path that exists is the path itself, or the first one above it that is there")
    func nearest() throws {
        try TemporaryFolder.with { folder in
            #expect(FileSystem.nearest(to: folder.path) == folder.path)
            #expect(FileSystem.nearest(to: folder.path + "/a/b/c") == folder.path)
        }
        #expect(FileSystem.nearest(to: "/nowhere/at/all") == "/")
        #expect(FileSystem.nearest(to: "nowhere") == "nowhere")
    }

    @Test("a pipe without a writer, a device without an end, a folder, and links to them are refused at once")
    func refused() throws {
        try TemporaryFolder.with { folder in
            let pipe = folder("pipe").path
            #expect(mkfifo(pipe, 0o600) == 0)
            for (name, target) in [("to-pipe", pipe), ("to-zero", "/dev/zero"), ("to-folder", folder.path)] {
                #expect(symlink(target, folder(name).path) == 0)
            }
            for path in [pipe, "/dev/zero", folder.path] + ["to-pipe", "to-zero", "to-folder"].map({ folder($0).path })
            {
                for read in [
                    { _ = try FileSystem.digest(path) }, { _ = try FileSystem.read(path) },
                    { _ = try FileSystem.read(path, accepts: .filesAndStreams) },
                    { try FileSystem.copy(path, to: path + "-copy") }, { _ = try LineReader(path) },
                ] as [() throws -> Void] {
                    let error = #expect(throws: FileSystemError.self) { try read() }
                    #expect(error?.detail == "is not a regular file")
                }
            }
            #expect(!FileSystem.exists(pipe + "-copy"))
            #expect(FileSystem.isFolder(folder.path) && FileSystem.isFolder(folder("to-folder").path))
            #expect(!FileSystem.isFolder(pipe) && !FileSystem.isFolder(folder("none").path))
        }
    }

    @Test("a pipe without a name is read to its end where streams are accepted")
    func stream() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        #expect(Glibc.write(ends[1], "abc", 3) == 3)
        close(ends[1])
        defer { close(ends[0]) }
        #expect(try FileSystem.read("/dev/fd/\(ends[0])", accepts: .filesAndStreams) == Array("abc".utf8))
        #expect(throws: FileSystemError.self) { try FileSystem.read("/dev/fd/\(ends[0])") }
    }

    @Test("a link to a file is the file")
    func link() throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write([1, 2, 3], to: "file").path
            #expect(symlink(path, folder("link").path) == 0)
            #expect(try FileSystem.digest(folder("link").path).bytes == 3)
            #expect(try FileSystem.read(folder("link").path) == [1, 2, 3])
        }
    }
}
