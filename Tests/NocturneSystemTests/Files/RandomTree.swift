import Foundation
import NocturneSystem
import NocturneTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// A folder `batch` beside a folder `scans`, with links from the first into the second and out of both.
struct RandomTree {
    private let root: String
    /// In `batch`, relative to the root.
    private let victim: String
    private var immutable: [String] = []

    init(in root: String, _ hasImmutable: Bool, _ random: inout SplitMix64) {
        self.root = root
        let names = ["a", "b", "notes", "replaced", "x.json", "ä"]
        var folders = ["batch", "scans", "batch/a", "scans/p"]
        mkdir(root, 0o755)
        for name in folders { mkdir(root + "/" + name, 0o755) }
        var files: [String] = []
        for _ in 0..<Int.random(in: 4...14, using: &random) {
            let path =
                (folders.randomElement(using: &random) ?? "batch") + "/" + (names.randomElement(using: &random) ?? "a")
            guard FileSystem.kind(root + "/" + path) == .nothing else { continue }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<3:
                mkdir(root + "/" + path, 0o755)
                folders.append(path)
            case 3..<6: Self.write(path, in: root, &files)
            case 6..<9:
                let targets = folders + files + ["nowhere", "batch/a/loop"]
                let target = targets.randomElement(using: &random) ?? "scans"
                symlink(root + "/" + target, root + "/" + path)
            default:
                // A second name of a file outside.
                guard let file = files.randomElement(using: &random) else { continue }
                link(root + "/" + file, root + "/" + path)
            }
        }
        Self.write("scans/slice.dcm", in: root, &files)
        symlink("../../scans", root + "/batch/a/link")
        let inside = folders.filter { $0.hasPrefix("batch/") }
        victim = inside.randomElement(using: &random) ?? "batch/a"
        for folder in inside where Int.random(in: 0..<4, using: &random) == 0 { chmod(root + "/" + folder, 0o500) }
        for path in inside + files where hasImmutable && Int.random(in: 0..<5, using: &random) == 0 {
            if ImmutableAttribute.set(true, on: root + "/" + path) { immutable.append(root + "/" + path) }
        }
    }

    private static func write(_ path: String, in root: String, _ files: inout [String]) {
        let descriptor = open(root + "/" + path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        _ = path.withCString { Glibc.write(descriptor, $0, strlen($0)) }
        close(descriptor)
        files.append(path)
    }

    /// Some calls fail, always the same for a path.
    func failures(_ random: inout SplitMix64) -> (FileSystem.RemovalCall, String) -> Int32? {
        let codes = [EIO, EPERM, EACCES, EISDIR, ENOTDIR, EBUSY, ENOTEMPTY, ESTALE]
        let salt = UInt64.random(in: 0...UInt64.max, using: &random)
        return { call, path in
            var own = SplitMix64(
                seed: path.utf8.reduce(salt ^ UInt64(call.rawValue.utf8.count)) { $0 &* 31 &+ UInt64($1) }
            )
            return Int.random(in: 0..<8, using: &own) == 0 ? codes.randomElement(using: &own) : nil
        }
    }

    func checkRemoval(_ comment: Comment, _ failing: (FileSystem.RemovalCall, String) -> Int32?) {
        let before = FolderContents(of: root, without: [victim])
        let left = FileSystem.remove(root + "/" + victim, failing: failing)
        #expect(FolderContents(of: root, without: [victim]) == before, comment)
        #expect((left == nil) == (FileSystem.kind(root + "/" + victim) == .nothing), comment)
        guard let left else { return }
        #expect((left.path + "/").hasPrefix(root + "/" + victim + "/") && left.code != 0, comment)
    }

    /// A new folder takes the place of the victim, which goes to `batch/old`, where something may lie.
    func checkMove(_ comment: Comment) throws {
        let changed: Set<String> = [victim, "new", "old"]
        mkdir(root + "/new", 0o755)
        symlink("../scans", root + "/new/link")
        mkdir(root + "/old", 0o755)
        symlink("../scans", root + "/old/link")
        let before = FolderContents(of: root, without: changed)
        let (old, new) = (FolderContents(of: root + "/" + victim), FolderContents(of: root + "/new"))
        do throws(FileSystemError) {
            try FileSystem.putInPlace(root + "/new", at: root + "/" + victim, movingOldTo: root + "/old")
            #expect(FolderContents(of: root + "/" + victim) == new, comment)
            #expect(FolderContents(of: root + "/old") == old, comment)
        } catch {
            #expect(FolderContents(of: root + "/" + victim) == old, "\(error)")
            #expect(FolderContents(of: root + "/new") == new, "\(error)")
        }
        #expect(FolderContents(of: root, without: changed) == before, comment)
    }

    func makeRemovable() {
        for path in immutable {
            // The victim may have been moved.
            for place in [path, path.replacingOccurrences(of: root + "/" + victim, with: root + "/old")] {
                ImmutableAttribute.set(false, on: place)
            }
        }
    }
}
