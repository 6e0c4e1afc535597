import Glibc
package import NocturneSystem

/// Size and time of modification of a source file at discovery, to notice when it has changed.
public struct InputStamp: Sendable, Hashable {
    /// By which the file is opened.
    public let path: String
    /// Nil when the file did not exist.
    package let state: FileState?
    /// When the file or its attributes last changed (`ctime`), in seconds since 1970: unlike the time of modification, nobody
    /// can set it, so that it shows how long a file has not been touched, and nothing about its content.
    package let touchedSeconds: Int?

    /// A recorded stamp, as a row of the journal has it. For the file as it is now use ``init(_:)``.
    package init(path: String, state: FileState?, touchedSeconds: Int? = nil) {
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
        state = FileState(status)
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
