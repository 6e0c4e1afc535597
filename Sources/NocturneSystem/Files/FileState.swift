public import Glibc

/// Size and time of modification of a file, by which a change of its content is noticed.
public struct FileState: Hashable, Sendable {
    /// Bytes.
    public let size: Int
    /// Of the time of modification, since 1970.
    public let seconds: Int
    /// Of the time of modification, 0 to 999,999,999. Some file systems have whole seconds only.
    public let nanoseconds: Int

    /// - Parameters:
    ///   - size: bytes.
    ///   - seconds: of the time of modification, since 1970.
    ///   - nanoseconds: 0 to 999,999,999.
    public init(size: Int, seconds: Int, nanoseconds: Int) {
        self.size = size
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// As `stat(2)` gives it.
    public init(_ status: stat) {
        self.init(
            size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
    }

    /// The state of a file now, links followed; nil where there is none.
    public init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
