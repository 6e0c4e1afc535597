import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Whether the output folder is still the one that the run began with, and can be written.
///
/// Asked when an item fails: a share that is gone, a folder that was moved, or a disk that became read-only is the
/// batch's fault and not that of the thousands of items which would fail one after the other.
struct OutputHealth: Sendable {
    let output: OutputFolder
    /// The batch's lock, as the run holds it open.
    let lock: BatchLock

    /// What is wrong with it; nil when nothing is, or when it is only full.
    ///
    /// A share that does not answer for a moment is not lost: what may pass is looked at three times, over six seconds.
    func fault() async -> String? {
        for seconds in [2, 4] {
            guard let found = look() else { return nil }
            guard found.mayPass, (try? await Task.sleep(for: .seconds(seconds))) != nil else { return found.words }
        }
        return look()?.words
    }

    private struct Finding {
        let words: String
        let mayPass: Bool

        init(_ words: String, _ code: Int32?) {
            self.words = code.map { "\(words): \(errnoText($0))" } ?? words
            mayPass = code.map { [EIO, ESTALE, ETIMEDOUT, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH].contains($0) } ?? false
        }
    }

    private func look() -> Finding? {
        switch lock.place(in: output) {
        case .same: return refusal().map { Finding("the output folder cannot be written any more", $0) }
        case .another:
            return Finding("the output folder is not there any more: it was moved, deleted or unmounted", nil)
        case .unknown(let code): return Finding("the output folder does not answer any more", code)
        }
    }

    /// Writes, flushes and removes a small file.
    private func refusal() -> Int32? {
        let path = output.staging + "/.written-\(getpid())"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return OutputHealth.grave(errno) }
        defer {
            close(descriptor)
            unlink(path)
        }
        let written = "x".withCString { write(descriptor, $0, 1) }
        guard written == 1, fsync(descriptor) == 0 else { return OutputHealth.grave(errno) }
        return nil
    }

    /// A full disk is waited for elsewhere, and too many open files are this process's own.
    private static func grave(_ code: Int32) -> Int32? {
        [ENOSPC, EDQUOT, ENFILE, EMFILE, EINTR, EAGAIN].contains(code) ? nil : code
    }
}
