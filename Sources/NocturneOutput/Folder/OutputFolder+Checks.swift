import Foundation
import NocturneSystem

/// Refusing output folders in which something of the batch's own leads elsewhere.
extension OutputFolder {
    /// Every command calls this before it reads, writes or removes anything below `.nocturne` or `kept`: an output folder can come
    /// from somebody else, and a link there, such as `.nocturne/replaced`, would have files of other folders removed.
    ///
    /// The folder itself may be a link: the user has named it. So may the folders of items, which are moved, and removed, as links.
    /// - Throws: ``BatchError`` with `linkInOutput`. Nothing was touched.
    package func checkOwnFolders() throws(BatchError) {
        try checkIsNoLink(batchFolder)
        try checkIsNoLink(kept)
        try checkEntries(of: batchFolder)
        guard shard != nil else { return }
        try checkIsNoLink(hidden)
        try checkEntries(of: hidden)
    }

    private func checkEntries(of folder: String) throws(BatchError) {
        for name in FileSystem.entries(folder) { try checkIsNoLink(folder + "/" + name) }
    }

    /// Pipes and devices are refused too: nothing of a batch is one.
    private func checkIsNoLink(_ path: String) throws(BatchError) {
        guard FileSystem.kind(path) == .other else { return }
        throw BatchError(
            .linkInOutput,
            path: path,
            detail:
                "is a link, pipe or device where the batch has its own files and folders, so that files elsewhere would be "
                + "changed or removed. Nothing was touched. Remove it (rm) if you trust this output folder, and repeat the "
                + "command; otherwise choose another output folder"
        )
    }
}

/// Refusing to start where a user's own files would be overwritten.
extension OutputFolder {
    /// Files about the whole batch, which a run writes into the output folder.
    package static let reportNames = [
        "batch.json", "statistics.csv", "retry.txt", "events.jsonl", "contact-sheet.pdf",
        "measurements.csv", "comparison.csv", "time.csv", "radiomics.csv", "index.html", "review",
    ]

    /// Before the first run in a folder: nothing may be there that has a name of the batch's own files, also while they are
    /// written. A folder with a journal, or with the lock that a run leaves, has passed this check before.
    /// - Throws: ``BatchError`` naming the file. Nothing was written.
    public func checkReportsAreOwn() throws(BatchError) {
        try checkIsUsable()
        guard !holdsBatch else { return }
        guard FileSystem.kind(lock) != .file else { return }
        for name in Self.reportNames + Self.reportNames.map({ $0 + ".part" })
        where FileSystem.kind(path + "/" + name) != .nothing {
            // A run that was killed before it took the lock may have written events.
            if name == "events.jsonl", BatchEvent.begins(path + "/" + name) { continue }
            throw BatchError(
                .outputUnwritable,
                path: "",
                detail: "\(path)/\(name) would be overwritten, and it does not belong to a batch in this folder. "
                    + "Move it away, or choose another folder with --output"
            )
        }
    }
}

extension BatchEvent {
    /// Whether a file is empty or its first line is an event.
    package static func begins(_ path: String) -> Bool {
        guard FileSystem.kind(path) == .file, var lines = try? LineReader(path) else { return false }
        do {
            guard let line = try lines.next() else { return true }
            return (try? JSONDecoder().decode(BatchEvent.self, from: Data(line))) != nil
        } catch {
            return false
        }
    }
}
