import Glibc

/// Size and time of modification of a source file at discovery, to notice when it has changed.
public struct InputStamp: Sendable, Hashable {
    public let path: String
    /// Nil when the file did not exist.
    package let state: State?
    /// When the file or its attributes last changed (`ctime`), in seconds since 1970: unlike the time of modification, nobody
    /// can set it, so that it shows how long a file has not been touched, and nothing about its content.
    package let touchedSeconds: Int?

    /// Bytes, and the time of modification.
    package struct State: Sendable, Hashable {
        package let size: Int
        package let seconds: Int
        package let nanoseconds: Int

        package init(size: Int, seconds: Int, nanoseconds: Int) {
            self.size = size
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }
    }

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
