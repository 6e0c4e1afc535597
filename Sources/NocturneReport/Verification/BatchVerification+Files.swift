import Glibc
package import NocturneJournal
package import NocturneSystem

/// The files of one item.
extension BatchVerification {
    /// - Returns: The files that are what was recorded.
    package func hash(
        _ recorded: [ItemFile],
        in folder: String,
        _ flag: CancellationFlag,
        _ report: inout VerificationReport
    ) throws -> Set<String> {
        var whole: Set<String> = []
        for file in recorded {
            try flag.check()
            let path = folder + "/" + file.path
            switch FileSystem.kind(path) {
            case .nothing: report.add(path, Self.absence(of: path))
            case .folder, .other: report.add(path, "is not a regular file")
            case .file:
                do {
                    // The flag is seen within a file too: label maps and surfaces can be large.
                    let (bytes, digest) = try FileSystem.digest(path, while: { !flag.isCancelled })
                    try flag.check()
                    report.filesChecked += 1
                    report.bytesChecked += bytes
                    // The size first: it shows more than a digest, such as that a file was cut off.
                    if bytes != file.bytes {
                        report.add(path, "has \(bytes) bytes, \(file.bytes) were recorded")
                    } else if digest.hex != file.sha256 {
                        report.add(path, "the content differs from what was recorded")
                    } else {
                        whole.insert(file.path)
                    }
                } catch let fault as FileSystemError {
                    report.add(path, "cannot be read: \(errnoText(fault.code))")
                }
            }
        }
        return whole
    }

    /// What is wrong with a file or folder where it was not found: it is missing, or this user cannot look there.
    package static func absence(of path: String) -> String {
        var status = stat()
        guard lstat(path, &status) != 0, ![ENOENT, ENOTDIR].contains(errno) else { return "is missing" }
        return "cannot be read: \(errnoText())"
    }

    /// Files that Nocturne did not write are not faults: reviewers may put theirs next to a result.
    func noteForeignFiles(
        _ name: String,
        _ recorded: [ItemFile],
        in folder: String,
        _ report: inout VerificationReport
    ) {
        // run.json is not recorded, and checked separately.
        let known = Set(recorded.map(\.path)).union(["run.json"])
        let foreign = FileSystem.tree(below: folder).filter { !known.contains($0) }
        guard let first = foreign.first else { return }
        let others = foreign.count > 1 ? " and \(counted(foreign.count - 1, "more file"))" : ""
        report.notes.append("\(name): \(first)\(others) in its folder: not written by Nocturne, not checked")
    }

    /// The one file that is not recorded, as it differs between runs.
    func checkRun(_ folder: String, _ report: inout VerificationReport) {
        let path = folder + "/run.json"
        guard FileSystem.kind(path) == .file else { return report.add(path, Self.absence(of: path)) }
        do {
            let faults = try JSONSchema.run.faults(in: try FileSystem.read(path))
            if let first = faults.first { report.add(path, "does not match its schema: \(first)") }
        } catch {
            report.add(path, "cannot be read: \(error)")
        }
    }
}
