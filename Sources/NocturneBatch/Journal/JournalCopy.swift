import Foundation
import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// A journal that lies where nothing can be written, such as an archive or another user's results: SQLite needs files
/// beside one in use, so that a copy elsewhere is read.
struct JournalCopy {
    let path: String
    private let folder: String

    /// Nil where the journal can be used as it is, or is not there.
    /// - Throws: ``FileSystemError`` naming what cannot be copied.
    init?(ifNeededFor journal: String) throws {
        let home = (journal as NSString).deletingLastPathComponent
        guard access(journal, R_OK) == 0, access(home, W_OK) != 0, [EROFS, EACCES].contains(errno) else { return nil }
        folder = NSTemporaryDirectory() + "/nocturne-journal-\(UUID().uuidString)"
        path = folder + "/journal.sqlite"
        try FileSystem.makeFolder(folder)
        chmod(folder, 0o700)
        do {
            // A run of another user may be at work on it: once more when it wrote meanwhile.
            for _ in 0..<5 {
                let before = JournalCopy.stamps(journal)
                for suffix in ["", "-wal"] where FileSystem.exists(journal + suffix) {
                    try FileSystem.write(path + suffix, try FileSystem.read(journal + suffix, limit: 1 << 30))
                }
                if JournalCopy.stamps(journal) == before { break }
            }
        } catch {
            remove()
            throw error
        }
    }

    private static func stamps(_ journal: String) -> [InputStamp] { ["", "-wal"].map { InputStamp(journal + $0) } }

    /// Takes the files away; what has them open goes on reading them.
    func remove() { FileSystem.remove(folder) }
}
