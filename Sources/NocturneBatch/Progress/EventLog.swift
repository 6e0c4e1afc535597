import Glibc
import Synchronization

/// `events.jsonl`: all events, in order, as whole lines, whatever happens to the process or the disk.
final class EventLog: Sendable {
    private final class SharedFile: Sendable {
        let file: Mutex<EventFile>
        let permission = Mutex(Permission())
        init(path: String) { file = Mutex(EventFile(path: path)) }

        func append(_ line: [UInt8]) {
            let permission = permission.withLock { $0 }
            if permission.mayWrite() { file.withLock { $0.append(line) } }
        }
    }
    /// A bare function in a lock would be wrapped once more at each access, and take memory and time without end.
    private struct Permission {
        var mayWrite: @Sendable () -> Bool = { true }
    }
    private let writer: LineWriter
    private let shared: SharedFile

    init(path: String) {
        let shared = SharedFile(path: path)
        self.shared = shared
        writer = LineWriter(name: "events") { line in shared.append(line) }
    }

    /// From now on `mayWrite` is asked before each line; lines are dropped once it returns false.
    func write(while mayWrite: @escaping @Sendable () -> Bool) {
        shared.permission.withLock { $0.mayWrite = mayWrite }
    }

    /// Hands over a line. Never waits.
    func append(_ line: [UInt8]) { writer.append(line) }

    /// Returns once all lines are written.
    func close() async {
        await writer.flush(patience: nil)
        shared.file.withLock { $0.close() }
    }
}

/// The file as such, used by one thread at a time.
private struct EventFile: ~Copyable {
    private let path: String
    private var descriptor: Int32 = -1

    init(path: String) { self.path = path }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// A line that cannot be written whole is not written: a full disk must not tear it, and a run continues without it.
    mutating func append(_ line: [UInt8]) {
        guard descriptor >= 0 || open() else { return }
        let before = lseek(descriptor, 0, SEEK_END)
        if LineWriter.writeAll(line, to: descriptor) != 0 { ftruncate(descriptor, before) }
    }

    mutating func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    /// Makes the file once the batch's folder is there; removes a line that a killed process left unfinished.
    private mutating func open() -> Bool {
        descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { return false }
        var end = lseek(descriptor, 0, SEEK_END)
        var byte: UInt8 = 0
        while end > 0, pread(descriptor, &byte, 1, end - 1) == 1, byte != 10 { end -= 1 }
        ftruncate(descriptor, end)
        return true
    }
}
