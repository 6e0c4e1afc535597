import Foundation
import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// The one right to work on an output folder, held by an open descriptor: it goes with the process, however that ends.
public final class BatchLock: Sendable {
    private let descriptor: Int32

    /// - Parameter handedOn: the descriptor of a lock that the parent of this process holds, and has handed on to it.
    /// - Throws: ``BatchError`` with `outputInUse`, naming the holder's process id.
    public init(_ output: OutputFolder, handedOn: Int32? = nil) throws(BatchError) {
        if let handedOn {
            descriptor = handedOn
            say(nil)
            return
        }
        let descriptor = open(output.lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw BatchError(.outputUnwritable, path: output.path, detail: "the lock cannot be made: \(errnoText())")
        }
        // A run that was just killed may need a moment to die: ask for up to a second.
        var attempt = 0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            attempt += 1
            if attempt > 20 {
                close(descriptor)
                let holder = BatchLock.holder(of: output).map { "process \($0)" } ?? "another process"
                throw BatchError(.outputInUse, path: output.path, detail: "\(holder) is working on this batch")
            }
            usleep(50_000)
        }
        self.descriptor = descriptor
        say(nil)
    }

    deinit { close(descriptor) }

    /// Lets processes that are started from now on have the lock too; it is held until the last of them ends.
    /// - Returns: the descriptor by which they know it.
    public func handOn() -> Int32 {
        _ = fcntl(descriptor, F_SETFD, 0)
        return descriptor
    }

    /// Writes down what the run waits for, below its process id; nil for nothing.
    package func say(_ words: String?) {
        let text = "\(getpid())\n" + (words.map { $0 + "\n" } ?? "")
        // In place: a full disk has room for what overwrites.
        _ = text.withCString { pwrite(descriptor, $0, strlen($0), 0) }
        ftruncate(descriptor, off_t(text.utf8.count))
    }

    /// Where the folder's lock is, seen from the file that is held.
    package enum Place: Hashable {
        case same, another
        /// The system did not say, with its code.
        case unknown(Int32)
    }

    package func place(in output: OutputFolder) -> Place {
        var held = stat()
        var there = stat()
        guard fstat(descriptor, &held) == 0, stat(output.lock, &there) == 0 else {
            return [ENOENT, ENOTDIR].contains(errno) ? .another : .unknown(errno)
        }
        return held.st_dev == there.st_dev && held.st_ino == there.st_ino ? .same : .another
    }

    /// The process that works on the batch now; nil when none does.
    public static func holder(of output: OutputFolder) -> Int32? {
        lines(of: output)?.first.flatMap { Int32($0.trimmingCharacters(in: .whitespaces)) }
    }

    /// What the process that works on the batch now waits for; nil when it does not wait, or none is at work.
    public static func waiting(in output: OutputFolder) -> String? {
        lines(of: output)?.dropFirst().first.map(String.init)
    }

    /// What the holder wrote; nil when there is none.
    private static func lines(of output: OutputFolder) -> [Substring]? {
        let descriptor = open(output.lock, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return nil }
        guard let text = try? FileSystem.read(output.lock) else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n")
    }
}
