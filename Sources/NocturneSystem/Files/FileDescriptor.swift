import CPosix
internal import Glibc

/// An open file, closed when it goes out of scope.
///
/// Opening, reads and writes are repeated when a signal interrupts them, and continued when they are short.
///
/// ```swift
/// let file = try FileDescriptor(reading: "/data/volume.nii")
/// let header = try file.read(count: 348, at: 0)
/// ```
public struct FileDescriptor: ~Copyable {
    /// The fault points that stand at the calls, where a proof injects failures.
    public struct FaultPoints: Sendable {
        var open: FaultPoint?
        var read: FaultPoint?
        var write: FaultPoint?
        var flush: FaultPoint? = .fileFlush
        var close: FaultPoint?

        /// No failures are injected: for files that are neither inputs nor results.
        public static let none = FaultPoints()
        /// Of a file that is an input of an item.
        public static let input = FaultPoints(open: .inputOpen, read: .inputRead)
        /// Of an input whose first bytes are looked at.
        public static let inputHead = FaultPoints(open: .inputOpen)
        /// Of a file that is part of the output.
        public static let output = FaultPoints(open: .fileCreate, write: .fileWrite, close: .fileClose)
        /// Of a file with which an interrupted item resumes.
        public static let checkpoint = FaultPoints(write: .checkpointWrite, flush: .checkpointFlush)
    }

    /// What `fstat` returns about the file.
    public struct Status: Sendable {
        /// Of the file itself: `fstat` sees no links.
        public let kind: FileSystem.Kind
        /// Bytes; of no meaning for folders, pipes and devices.
        public let byteCount: Int
    }

    /// As it was given; for messages.
    public let path: String
    private let points: FaultPoints
    private var number: Int32

    /// The most bytes of one call: Linux transfers a little less than 2 GiB at once.
    private static let largestTransfer = 1 << 30

    /// What may lie at a path that is opened for reading.
    public enum Accepted: Sendable {
        /// A regular file, or a link to one. Nothing else is opened for longer than it takes to see what it is: a pipe would be
        /// waited for, and a device may never end.
        case files
        /// Also what a shell passes as `/dev/stdin` or `<(COMMAND)`: a pipe without a name, whose writer has it open already.
        case filesAndStreams
        /// Folders, pipes and devices too; a pipe is waited for.
        case anything
    }

    /// Opens a file for reading. All readers of the program open files here, or with the same check in C.
    /// - Throws: `ENOTSUP` for what is not accepted.
    public init(
        reading path: String,
        accepts accepted: Accepted = .files,
        points: FaultPoints = .none
    ) throws(FileSystemError) {
        // Without O_NONBLOCK, `open` waits for the writer of a pipe, before anybody can see that it is a pipe.
        let flags = O_RDONLY | O_CLOEXEC | (accepted == .anything ? 0 : O_NONBLOCK)
        try self.init(.open, path, flags, points, accepts: accepted)
    }

    /// Creates a file, or empties it.
    /// - Parameter followsLinks: whether a symbolic link at this path is followed, or refused.
    public init(
        creating path: String,
        followsLinks: Bool = true,
        points: FaultPoints = .output
    ) throws(FileSystemError) {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (followsLinks ? 0 : O_NOFOLLOW)
        try self.init(.create, path, flags, points)
    }

    /// Opens a file for reading and writing as it is, or creates an empty one that only its owner can read. A symbolic link is
    /// refused.
    public init(updating path: String, points: FaultPoints) throws(FileSystemError) {
        try self.init(.create, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, points, mode: 0o600)
    }

    private init(
        _ operation: FileSystemError.Operation,
        _ path: String,
        _ flags: Int32,
        _ points: FaultPoints,
        mode: mode_t = 0o666,
        accepts accepted: Accepted = .anything
    ) throws(FileSystemError) {
        var opened: Int32
        // A file system over a network may wait in `open`, which a signal then interrupts.
        repeat { opened = Self.call(points.open) { Glibc.open(path, flags, mode) } } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw FileSystemError(operation, path: path, code: errno) }
        var status = stat()
        if accepted != .anything, fstat(opened, &status) == 0, FileSystem.Kind(status) != .file {
            guard accepted == .filesAndStreams, Self.isPipeWithoutName(opened) else {
                _ = Glibc.close(opened)
                throw FileSystemError(operation, path: path, code: ENOTSUP)
            }
            _ = fcntl(opened, F_SETFL, flags & ~O_NONBLOCK)
        }
        (self.path, self.points, number) = (path, points, opened)
    }

    /// Pipes without names are files of a file system of the kernel (`PIPEFS_MAGIC`).
    private static func isPipeWithoutName(_ number: Int32) -> Bool {
        cposix_file_system_type("/proc/self/fd/\(number)") == 0x5049_5045
    }

    deinit {
        if number >= 0 { _ = Glibc.close(number) }
    }

    /// Runs the body with the number of the descriptor, which must not be kept or closed.
    public func withNumber<Result, Failure: Error>(
        _ body: (Int32) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(number)
    }

    /// Of the open file, whatever lies at its path now.
    public func status() throws(FileSystemError) -> Status {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw FileSystemError(.examine, path: path, code: errno) }
        return Status(kind: FileSystem.Kind(status), byteCount: Int(status.st_size))
    }

    // MARK: Reading

    /// Reads what one call gives, at most the buffer; 0 at the end of the file.
    /// - Parameter offset: where in the file; nil to continue after the last reading.
    public func readSome(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int? = nil
    ) throws(FileSystemError) -> Int {
        let size = min(buffer.count, Self.largestTransfer)
        return try repeated(.read, points.read) {
            guard let offset else { return Glibc.read(number, buffer.baseAddress, size) }
            return pread(number, buffer.baseAddress, size, off_t(offset))
        }
    }

    /// Fills the buffer as far as the file reaches.
    /// - Parameter offset: where in the file; nil to continue after the last reading.
    /// - Returns: the bytes read.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: Int? = nil
    ) throws(FileSystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try readSome(into: rest, at: offset.map { $0 + filled })
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Moves the position of the next read forward.
    public func advance(by count: Int) throws(FileSystemError) {
        guard lseek(number, off_t(count), SEEK_CUR) >= 0 else { throw FileSystemError(.read, path: path, code: errno) }
    }

    /// `count` bytes, or fewer at the end of the file.
    /// - Parameter offset: where in the file; nil to continue after the last reading.
    public func read(count: Int, at offset: Int? = nil) throws(FileSystemError) -> [UInt8] {
        var error: FileSystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(FileSystemError) {
                let whole = UnsafeMutableRawBufferPointer(buffer)
                filled = try read(into: UnsafeMutableRawBufferPointer(rebasing: whole[..<count]), at: offset)
            } catch let failure {
                error = failure
            }
        }
        if let error { throw error }
        return bytes
    }

    /// Everything from here to the end of the file.
    /// - Throws: `EFBIG` as soon as more than `limit` bytes were read.
    public func readToEnd(limit: Int = .max) throws(FileSystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        try forEachPiece { (piece) throws(FileSystemError) in
            bytes.append(contentsOf: piece)
            guard bytes.count <= limit else { throw FileSystemError(.read, path: path, code: EFBIG) }
            return true
        }
        return bytes
    }

    /// Reads to the end in pieces; stops early when the body returns false.
    public func forEachPiece(
        of size: Int = 1 << 16,
        _ body: (UnsafeRawBufferPointer) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try readSome(into: buffer)
            guard count > 0, try body(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return }
        }
    }

    // MARK: Writing

    /// Writes all bytes.
    /// - Parameter offset: where in the file, which moves no position; nil to continue after the last writing.
    public func write(_ bytes: UnsafeRawBufferPointer, at offset: Int? = nil) throws(FileSystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let size = min(rest.count, Self.largestTransfer)
            done += try repeated(.write, points.write) {
                guard let offset else { return Glibc.write(number, rest.baseAddress, size) }
                return pwrite(number, rest.baseAddress, size, off_t(offset + done))
            }
        }
    }

    /// Writes all bytes of an array.
    public func write(_ bytes: [UInt8]) throws(FileSystemError) {
        try bytes.span.bytes.withUnsafeBytes { (buffer) throws(FileSystemError) in try write(buffer) }
    }

    /// Writes to the disk what the system still holds of the file, or of the folder.
    public func flush() throws(FileSystemError) {
        guard Self.call(points.flush, { fsync(number) }) == 0 else {
            throw FileSystemError(.flush, path: path, code: errno)
        }
    }

    /// Makes this empty file a copy of another one that takes no space as long as neither is changed (`FICLONE`).
    /// - Returns: false where the file system cannot do that.
    func shareBlocks(of source: borrowing FileDescriptor) -> Bool { ioctl(number, 0x4004_9409, source.number) == 0 }

    /// Closes the file; network file systems report lost writes here.
    public mutating func close() throws(FileSystemError) {
        // Never repeated, not even after EINTR: on Linux the number is free then, and may be that of another file.
        let closing = number
        number = -1
        guard Self.call(points.close, { Glibc.close(closing) }) == 0 else {
            throw FileSystemError(.close, path: path, code: errno)
        }
    }

    // MARK: Calls

    private static func call<Result: SignedInteger>(_ point: FaultPoint?, _ body: () -> Result) -> Result {
        if let point { point.call(body) } else { body() }
    }

    /// The result of a call, repeated while signals interrupt it.
    private func repeated(
        _ operation: FileSystemError.Operation,
        _ point: FaultPoint?,
        _ body: () -> Int
    ) throws(FileSystemError) -> Int {
        while true {
            let result = Self.call(point, body)
            // Whatever was transferred before a signal counts: only a call without any bytes fails with EINTR.
            if result >= 0 { return result }
            if errno != EINTR { throw FileSystemError(operation, path: path, code: errno) }
        }
    }
}
