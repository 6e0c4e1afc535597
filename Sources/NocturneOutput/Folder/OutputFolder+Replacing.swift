import Foundation
import Glibc
package import NocturneJournal
package import NocturneSystem

/// Putting results in their places without losing anything that is there.
///
/// A folder is replaced only when it is proven to be a result: the journal has a list of files that were written there, or
/// its own `result.json` lists files whose digests hold. Whatever else is in it is kept.
extension OutputFolder {
    /// Where replaced results are until the new one is in its place.
    private var replaced: String { hidden + "/replaced" }

    /// Where files of others are kept whose paths a new result takes.
    package var kept: String { path + "/kept" }

    /// Renames a complete folder to the place of an item.
    /// - Parameter recorded: the files that the journal has of an earlier result of the item; empty for none.
    /// - Returns: what the user should know.
    /// - Throws: `FileSystemError`, with EEXIST when something lies there that is not proven to be a result.
    package func putInPlace(_ folder: String, as name: String, recorded: [ItemFile]) throws(FileSystemError) -> [String]
    {
        try restoreReplaced(name)
        let final = item(name)
        guard FileSystem.kind(final) != .nothing else {
            try FileSystem.putInPlace(folder, at: final, movingOldTo: replaced + "/" + name)
            return []
        }
        let old = ResultFolder(final)
        guard FileSystem.kind(final) == .folder,
            let written = recorded.isEmpty ? old.writtenFiles() : recorded
        else {
            let refusal = "replace a folder that is not a result of this batch (move it away, or choose another output)"
            throw FileSystemError(operation: refusal, path: final, code: EEXIST)
        }
        let foreign = try old.foreignEntries(written: written)
        let moved = try old.keep(foreign, in: ResultFolder(folder), aside: kept + "/" + name)
        if !moved.isEmpty { try FileSystem.flush(path) }
        try FileSystem.makeFolder(replaced)
        do {
            try FileSystem.putInPlace(folder, at: final, movingOldTo: replaced + "/" + name)
        } catch {
            // The next run tries this again before anything else.
            try? restoreReplaced(name)
            throw error
        }
        return notes(on: foreign, moved: moved, name: name)
    }

    /// Removes what an item has left in staging, and the result that it replaced. Once it is committed.
    /// - Returns: what the user should know: what could not be removed.
    package func cleanUp(_ name: String) -> [String] {
        let folders = [staging(name), work == nil ? nil : arrived(name), replaced + "/" + name].compactMap(\.self)
        return folders.compactMap { FileSystem.remove($0) }.map { left in
            "\(name): the result is in its place, but what is no longer needed cannot be removed: \(left.path): "
                + "\(errnoText(left.code)). Remove it yourself: files in it that are not Nocturne's are also in the new "
                + "result, or in the folder kept"
        }
    }

    /// Undoes replacements that were cut off when the old result had left its place and the new one had not come: on file
    /// systems that cannot exchange two names in one step. To be called before anything looks at the results.
    package func restoreReplaced() throws(FileSystemError) {
        let names = FileSystem.entries(replaced)
        guard !names.isEmpty else { return }
        for name in names { try restoreReplaced(name) }
        // Only what is in its place for ever replaces anything.
        try FileSystem.flush(path)
        for name in names { FileSystem.remove(replaced + "/" + name) }
    }

    /// - Throws: `FileSystemError` when it cannot be moved back: what lies there is the only result then, and must not be removed.
    private func restoreReplaced(_ name: String) throws(FileSystemError) {
        let old = replaced + "/" + name
        guard FileSystem.kind(old) == .folder, FileSystem.kind(item(name)) == .nothing else { return }
        try FileSystem.move(old, to: item(name))
    }

    private func notes(on foreign: [String], moved: [String], name: String) -> [String] {
        guard !foreign.isEmpty else { return [] }
        let stayed = foreign.count - moved.count
        var notes: [String] = []
        if stayed > 0 {
            notes.append(
                "\(name): the result was replaced; kept: \(counted(stayed, "file")) in its folder that Nocturne did not write"
            )
        }
        for place in moved {
            notes.append(
                "\(name): the result was replaced; a file that Nocturne did not write in this form was kept as \(place)"
            )
        }
        return notes
    }
}
