import Glibc

/// Size and time of modification of a source file at discovery, to notice when it has changed.
public struct InputStamp: Sendable, Hashable {
    /// By which the file is opened.
    public let path: String
    /// Nil when the file did not exist.
    package let state: State?
    /// When the file or its attributes last changed (`ctime`), in seconds since 1970: unlike the time of modification, nobody
    /// can set it, so that it shows how long a file has not been touched, and nothing about its content.
    package let touchedSeconds: Int?

    /// Bytes, and the time of modification.
    package struct State: Sendable, Hashable {
        /// Bytes.
        package let size: Int
        /// Of the time of modification, since 1970.
        package let seconds: Int
        /// Of the time of modification, 0 to 999,999,999. Some file systems have whole seconds only.
        package let nanoseconds: Int

        /// - Parameters:
        ///   - size: bytes.
        ///   - seconds: of the time of modification, since 1970.
        ///   - nanoseconds: 0 to 999,999,999.
        package init(size: Int, seconds: Int, nanoseconds: Int) {
            self.size = size
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }
    }

    /// A recorded stamp, as a row of the journal has it. For the file as it is now use ``init(_:)``.
    package init(path: String, state: State?, touchedSeconds: Int? = nil) {
        self.path = path
        self.state = state
        self.touchedSeconds = touchedSeconds
    }

    /// Reads the state of the file now.
    public init(_ path: String) {
        self.path = path
        var status = stat()
        guard stat(path, &status) == 0 else {
            state = nil
            touchedSeconds = nil
            return
        }
        touchedSeconds = status.st_ctim.tv_sec
        state = State(
            size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec
        )
    }

    /// Whether the file still has this size and this time of modification.
    public var holds: Bool { state == InputStamp(path).state }

    /// Size and time of modification, for fingerprints.
    public var text: String {
        state.map { "\($0.size) \($0.seconds).\($0.nanoseconds)" } ?? "gone"
    }

    /// Bytes of the file; nil when it did not exist.
    public var size: Int? { state?.size }
}
