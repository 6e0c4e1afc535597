internal import NocturneCore
import NocturneSystem

#if canImport(Glibc)
    internal import Glibc
#endif

/// What the system said when a file could not be opened, written or closed.
struct FileOutputError: Error {
    let detail: String
    let code: Int32

    init(_ what: String, _ code: Int32) {
        self.code = code
        detail = "\(what): \(systemMessage(code)) (errno \(code))"
    }
}

/// A file written from its beginning, where no short write and no error goes unseen.
///
/// Nothing is flushed to the disk and nothing is removed after a fault: both are the caller's, who knows whether the
/// name is a temporary one.
struct CheckedFileOutput: ~Copyable {
    private var descriptor: Int32

    /// Creates the file, or empties it.
    init(path: String) throws(FileOutputError) {
        descriptor = FaultPoint.fileCreate.call { open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666) }
        guard descriptor >= 0 else { throw FileOutputError("cannot be created", errno) }
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FileOutputError) {
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            let count = FaultPoint.fileWrite.call {
                Glibc.write(descriptor, base + done, min(bytes.count - done, 1 << 30))
            }
            if count >= 0 {
                done += count
            } else if errno != EINTR {
                throw FileOutputError("cannot be written", errno)
            }
        }
    }

    mutating func write(_ bytes: [UInt8]) throws(FileOutputError) {
        try bytes.span.bytes.withUnsafeBytes { (buffer) throws(FileOutputError) in try write(buffer) }
    }

    /// Closes the file; network file systems report lost writes here.
    mutating func close() throws(FileOutputError) {
        let closing = descriptor
        descriptor = -1
        let result = FaultPoint.fileClose.call { Glibc.close(closing) }
        if result != 0 { throw FileOutputError("cannot be closed", errno) }
    }
}
