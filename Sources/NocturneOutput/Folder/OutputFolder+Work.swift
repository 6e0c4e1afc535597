import Foundation
import Glibc
package import NocturneSystem

/// A folder on another disk in which a run prepares its results, such as a local disk of a machine whose output folder is on a
/// share: `--work`.
///
/// Checkpoints and half-written files stay there, and the share gets each result once, whole: it is copied into the hidden
/// folder, flushed, and renamed into its place, as results are that were prepared there.
extension OutputFolder {
    /// Makes the folder of this batch or shard in `parent`. A run that continues on this machine finds the checkpoints of the
    /// one before.
    /// - Returns: its path.
    /// - Throws: ``BatchError`` with `workUnusable` when `parent` is not a folder, cannot be written, or holds something else of
    ///   that name.
    package func makeWorkFolder(in parent: String) throws(BatchError) -> String {
        let digest = ContentDigest.of(hidden).hex.prefix(16)
        let path = parent + "/nocturne-" + digest
        func refusal(_ detail: String) -> BatchError { BatchError(.workUnusable, path: parent, detail: detail) }
        guard FileSystem.exists(parent) else {
            throw refusal("the folder for work does not exist. Create it, or give another with --work")
        }
        do throws(FileSystemError) {
            try FileSystem.makeFolder(path, mode: 0o700)
        } catch {
            throw refusal(
                "no folder can be made in the folder for work: \(errnoText(error.code)). Make it writable, or give another with "
                    + "--work"
            )
        }
        var status = stat()
        // Others may write to such folders: what they put there is not used.
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            chmod(path, 0o700) == 0
        else { throw refusal("\(path) belongs to somebody else. Give another folder with --work") }
        return path
    }

    /// Removes the folder at the end of a run, unless items wait in it.
    package func removeEmptyWorkFolder() {
        guard let work else { return }
        FileSystem.removeEmptyFolder(staging)
        FileSystem.removeEmptyFolder(work)
    }

    /// Copies a result that was prepared on another disk next to its final place, and flushes it.
    package func bring(_ folder: String, as name: String) throws(FileSystemError) {
        let place = arrived(name)
        try FileSystem.makeFolder(arrived)
        try FileSystem.makeEmptyFolder(place)
        for file in FileSystem.files(below: folder) { try ResultFolder(folder).copy(file, to: place) }
        try ResultFolder(place).flush()
    }
}
