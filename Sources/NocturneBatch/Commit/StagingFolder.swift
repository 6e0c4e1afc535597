import NocturneJournal
package import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Chooses the folder in which results are prepared: `.nocturne/staging`, or a later one that the journal names.
///
/// A run that takes the output folder over from a run of another machine, which may come back, prepares results in a folder of
/// its own. What the other one still writes, by name or into open files, is then in no folder that counts.
package enum StagingFolder {
    package static let first = "staging"

    /// The name of the folder of a run.
    /// - Parameters:
    ///   - recorded: in the journal; nil when there has been one folder only.
    ///   - takenOver: the generation of the claim of a run that has taken the folder over; nil for other runs.
    package static func name(recorded: String?, takenOver: Int?) -> String {
        takenOver.map { "\(first)-\($0)" } ?? recorded ?? first
    }

    /// Makes the folder, with the checkpoints of the one used before, and removes all others.
    /// - Throws: ``FileSystemError``.
    package static func prepare(_ output: OutputFolder, before: String) throws(FileSystemError) {
        let name = output.stagingName
        if name != before, FileSystem.kind(output.staging) == .nothing {
            let new = output.staging + ".part"
            FileSystem.remove(new)
            try copyCheckpoints(output.hidden + "/" + before, to: new)
            try FileSystem.move(new, to: output.staging)
        }
        try FileSystem.makeFolder(output.staging)
        chmod(output.staging, 0o700)
        for other in FileSystem.entries(output.hidden) where other.hasPrefix(first) && other != name {
            FileSystem.remove(output.hidden + "/" + other)
        }
    }

    /// The files directly in the folders of items; folders in these hold parts of results, which are made again.
    private static func copyCheckpoints(_ old: String, to new: String) throws(FileSystemError) {
        try FileSystem.makeFolder(new)
        for item in FileSystem.entries(old) where FileSystem.kind(old + "/" + item) == .folder {
            try FileSystem.makeFolder(new + "/" + item)
            for file in FileSystem.entries(old + "/" + item) {
                let path = "/" + item + "/" + file
                if FileSystem.kind(old + path) == .file { try FileSystem.copy(old + path, to: new + path) }
            }
        }
    }
}

extension JournalSetting<String> {
    /// The name of the folder in which results are prepared; nil for the first one.
    static var stagingFolder: Self { Self(text: "stagingFolder") }
}
