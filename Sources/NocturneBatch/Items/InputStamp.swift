#if canImport(Glibc)
    import Glibc
#endif

/// A source file as discovery saw it, to tell whether it is still the same.
public struct InputStamp: Sendable, Hashable {
    public let path: String
    /// Nil when there was no such file.
    private let state: State?
    /// When anything about the file was last changed by the clock of its system, in seconds since 1970: unlike the time of
    /// change, nobody can set it, so that it says how long a file has been quiet, and nothing about its content.
    let touchedSeconds: Int?

    private struct State: Sendable, Hashable {
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    /// Of the file as it is now.
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

    /// Whether the file still has this size and this time of change.
    public var holds: Bool { state == InputStamp(path).state }

    /// Size and time of change, for fingerprints.
    public var words: String {
        state.map { "\($0.size) \($0.seconds).\($0.nanoseconds)" } ?? "gone"
    }

    /// When it was last changed, in seconds since 1970.
    var changedSeconds: Int? { state?.seconds }

    /// Bytes of the file; nil when there was none.
    public var size: Int? { state?.size }
}

/// A source file is not what it was when the item was planned: its item is to be discovered anew.
struct ChangedInput: Error, CustomStringConvertible {
    let path: String
    var description: String {
        InputStamp(path).size == nil
            ? "\(path) is gone since the batch began" : "\(path) was changed while the batch ran"
    }
}
