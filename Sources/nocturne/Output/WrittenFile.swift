import NocturneBatch
import NocturneOutput
import NocturneSystem

/// A file that a command writes where the user asks for it, such as a table.
enum WrittenFile {
    /// Checks that nothing lies at a path but what the same command has written there before: not an input, nor any other file.
    /// - Parameter beginning: how every file of this command begins.
    /// - Throws: `BatchError` with `outputUnwritable`.
    static func check(_ path: String, beginning: String) throws(BatchError) {
        let isOwn: Bool
        switch FileSystem.kind(path) {
        case .nothing: isOwn = true
        case .folder, .other: isOwn = false
        case .file:
            let bytes = try? FileDescriptor(reading: path).read(count: beginning.utf8.count)
            isOwn = bytes.map { $0.isEmpty || $0 == Array(beginning.utf8) } ?? false
        }
        guard !isOwn else { return }
        throw BatchError(
            .outputUnwritable,
            path: path,
            detail: "is there already, and this command did not write it: give another path, or move it away"
        )
    }

    /// Writes a table, whose first line is always the same.
    /// - Throws: `BatchError` as ``check(_:beginning:)``; `FileSystemError`.
    static func write(table: String, to path: String) throws {
        try check(path, beginning: String(table.prefix { $0 != "\n" }))
        try FileSystem.replace(path, with: Array(table.utf8))
    }

    /// Writes when each item was in which stage.
    /// - Throws: `BatchError` for a file that cannot be written, or that is something else, or events that cannot be read.
    static func writeTrace(of folder: OutputFolder, to path: String) throws {
        try check(path, beginning: RunTrace.beginning)
        do {
            try folder.writeTrace(to: path)
        } catch let error as FileSystemError {
            throw BatchError(
                .outputUnwritable,
                path: path,
                detail: "the trace was not written: \(errnoText(error.code)). Give another path, or make its folder"
            )
        }
    }
}
