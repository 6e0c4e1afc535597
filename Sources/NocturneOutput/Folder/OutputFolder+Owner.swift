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

    /// Refuses a batch of another user, which commands of root could change: the owner could not use or replace what root makes.
    ///
    /// The owner of a file that is made and removed decides, and not the number of this user: some shares give all files to one user. What
    /// cannot be made is refused where it is needed.
    /// - Throws: ``BatchError`` that names the owner.
    package func checkOwner() throws(BatchError) {
        var (batch, made) = (stat(), stat())
        guard lstat(batchFolder, &batch) == 0 else { return }
        let path = "\(batchFolder)/owner-\(getpid())"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        let code = fstat(descriptor, &made)
        Glibc.close(descriptor)
        unlink(path)
        if code == 0, made.st_uid != batch.st_uid { throw belongs(to: batch.st_uid) }
    }

    /// Closes a folder of the batch to everybody but its owner. Where the output folder gives its group to what is made in it (`S_ISGID`),
    /// so does this folder, since results are made here and moved there.
    func restrict(_ folder: String) {
        var status = stat()
        let isShared = lstat(path, &status) == 0 && status.st_mode & S_ISGID != 0
        if isShared { chown(folder, uid_t.max, status.st_gid) }
        chmod(folder, isShared ? 0o2700 : 0o700)
    }

    private func belongs(to owner: uid_t) -> BatchError {
        let name = getpwuid(owner).map { String(cString: $0.pointee.pw_name) }
        let user = name ?? "user \(owner)"
        let detail =
            "the batch in \(path) belongs to \(user), who alone can change it. Run the command as \(user), with "
            + "`sudo -u \(name ?? "'#\(owner)'") nocturne …` or in a container with `--user \(owner)`, or start a new batch: "
            + "`nocturne run` with another --output"
        return BatchError(.outputUnwritable, path: "", detail: detail, systemCode: EACCES)
    }
}
