#if canImport(Glibc)
    import Glibc
#endif

/// `events.jsonl`: whole lines, whatever happens to the process or the disk. Used by the reporter alone.
final class EventLog {
    private let path: String
    private var descriptor: Int32 = -1

    init(path: String) { self.path = path }

    deinit { close() }

    /// A line that cannot be written whole is not written: a full disk must not tear it, and a run goes on without.
    func append(_ line: [UInt8]) {
        guard descriptor >= 0 || open() else { return }
        let before = lseek(descriptor, 0, SEEK_END)
        var offset = 0
        while offset < line.count {
            let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress! + offset, line.count - offset) }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else {
                if offset > 0 { ftruncate(descriptor, before) }
                return
            }
            offset += written
        }
    }

    func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Makes the file once the batch's folder is there; takes off a line that a killed process left unfinished.
    private func open() -> Bool {
        descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { return false }
        var end = lseek(descriptor, 0, SEEK_END)
        var byte: UInt8 = 0
        while end > 0, pread(descriptor, &byte, 1, end - 1) == 1, byte != 10 { end -= 1 }
        ftruncate(descriptor, end)
        return true
    }
}
