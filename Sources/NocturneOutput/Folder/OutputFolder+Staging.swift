import Glibc
package import NocturneJournal
package import NocturneSystem

/// The folder in which results are prepared: `.nocturne/staging`, or a later one that the journal names.
///
/// A run that takes the output folder over from a run of another machine, which may come back, prepares results in a
/// separate folder. What the other one still writes, by name or into open files, is then in no folder that counts.
extension OutputFolder {
    /// The name of the first folder, and what the names of all others begin with.
    package static let firstStaging = "staging"

    /// The name of the folder of a run.
    /// - Parameters:
    ///   - recorded: in the journal; nil when there has been one folder only.
    ///   - takenOver: the generation of the claim of a run that has taken the folder over; nil for other runs.
    package static func stagingName(recorded: String?, takenOver: Int?) -> String {
        takenOver.map { "\(firstStaging)-\($0)" } ?? recorded ?? firstStaging
    }

    /// Makes the folder, with the checkpoints of the one used before, and removes all others. A folder on another disk
    /// continues what it has; what the hidden folder has then is copied only if there is nothing else.
    /// - Throws: ``FileSystemError``.
    package func prepareStaging(before: String) throws(FileSystemError) {
        let earlier = [work, hidden].compactMap { $0.map { $0 + "/" + before } }
        if FileSystem.kind(staging) == .nothing,
            let old = earlier.first(where: { FileSystem.kind($0) == .folder })
        {
            let new = staging + ".part"
            try FileSystem.makeEmptyFolder(new)
            try Self.copyCheckpoints(old, to: new)
            try FileSystem.move(new, to: staging)
        }
        try FileSystem.makeFolder(staging)
        restrict(staging)
        for parent in [hidden, work].compactMap(\.self) {
            for other in FileSystem.entries(parent) where other.hasPrefix(Self.firstStaging) {
                let path = parent + "/" + other
                if path != staging { FileSystem.remove(path) }
            }
        }
    }

    /// The files directly in the folders of items, to a folder that is empty; folders in these hold parts of results, which are made again.
    private static func copyCheckpoints(_ old: String, to new: String) throws(FileSystemError) {
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
    package static var stagingFolder: Self { Self(name: "stagingFolder") }
}
