import Glibc
import NocturneSystem

/// The user to whom a batch belongs, who alone can change it: that of `.nocturne`.
extension OutputFolder {
    /// For a folder that this user cannot change.
    package func unwritable(_ code: Int32) -> BatchError {
        var status = stat()
        if code == EACCES, lstat(hidden, &status) == 0, status.st_uid != geteuid() { return belongs(to: status.st_uid) }
        // Commands for a batch that is there may have no --output.
        let next = holdsBatch ? "then repeat the command" : "or choose another with --output"
        let step = [ENOSPC, EDQUOT].contains(code) ? "Free space on its disk" : "Make it writable"
        let detail = "cannot write to the folder \(path): \(errnoText(code)). \(step), \(next)"
        return BatchError(.outputUnwritable, path: "", detail: detail, systemCode: code)
    }

    /// Removes a file or an empty folder that this process has just made in the batch, if it belongs to another user than the batch, as
    /// what root makes does: the owner could not use or replace it.
    ///
    /// The file decides, and not the number of this user: some shares give all files to one user.
    /// - Throws: ``BatchError`` that names the owner.
    package func checkOwner(ofNew file: String) throws(BatchError) {
        var (batch, new) = (stat(), stat())
        guard lstat(batchFolder, &batch) == 0, lstat(file, &new) == 0, new.st_uid != batch.st_uid else { return }
        Glibc.remove(file)
        throw belongs(to: batch.st_uid)
    }

    /// Closes a folder to everybody but its owner. It keeps the bit that gives files the group of their folder (`S_ISGID`), since results
    /// are made in such folders and moved into the output folder, which may be shared by a group.
    static func close(_ folder: String) {
        var status = stat()
        if lstat(folder, &status) == 0 { chmod(folder, status.st_mode & 0o2000 | 0o700) }
    }

    private func belongs(to owner: uid_t) -> BatchError {
        let name = getpwuid(owner).map { String(cString: $0.pointee.pw_name) }
        let user = name ?? "user \(owner)"
        let detail =
            "the batch in \(path) belongs to \(user), who alone can change it. Run the command as \(user), with "
            + "`sudo -u \(name ?? "'#\(owner)'") nocturne …`, or start a new batch: `nocturne run` with another --output"
        return BatchError(.outputUnwritable, path: "", detail: detail, systemCode: EACCES)
    }
}
