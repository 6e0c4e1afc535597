import NocturneSystem

#if canImport(Glibc)
    import Glibc
#endif

/// Size and time of modification of a source file at discovery, to notice when it has changed.
public struct InputStamp: Sendable, Hashable {
    public let path: String
    /// Nil when the file did not exist.
    fileprivate let state: State?
    /// When the file or its attributes last changed (`ctime`), in seconds since 1970: unlike the time of modification, nobody
    /// can set it, so that it shows how long a file has not been touched, and nothing about its content.
    let touchedSeconds: Int?

    fileprivate struct State: Sendable, Hashable {
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    fileprivate init(path: String, state: State?) {
        self.path = path
        self.state = state
        touchedSeconds = nil
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

    /// Size, seconds and nanoseconds, to be recorded; empty for a file that did not exist.
    var recorded: [Int] { state.map { [$0.size, $0.seconds, $0.nanoseconds] } ?? [] }

    /// As it was recorded.
    init(path: String, recorded: [Int]) {
        self.init(
            path: path,
            state: recorded.count == 3
                ? State(size: recorded[0], seconds: recorded[1], nanoseconds: recorded[2]) : nil
        )
    }

    /// Whether the file still has this size and this time of modification.
    public var holds: Bool { state == InputStamp(path).state }

    /// Size and time of modification, for fingerprints.
    public var text: String {
        state.map { "\($0.size) \($0.seconds).\($0.nanoseconds)" } ?? "gone"
    }

    /// Time of modification, in seconds since 1970.
    var changedSeconds: Int? { state?.seconds }

    /// Bytes of the file; nil when it did not exist.
    public var size: Int? { state?.size }
}

/// The stamps of an item's files in little memory, for items that wait: a series has hundreds of files, and a batch thousands of
/// series.
package struct PackedStamps: Sendable {
    /// How many stamps there are, what all paths begin with, and the rest of each path, each ended by a NUL; then size,
    /// seconds and nanoseconds of each file in eight bytes, where the size is -1 for a file that did not exist.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ stamps: [InputStamp]) {
        let first = stamps.first?.path ?? ""
        let ends = first.lastIndex(of: "/").map { first.index(after: $0) } ?? first.startIndex
        let folder = stamps.allSatisfy { $0.path.hasPrefix(first[..<ends]) } ? first[..<ends].utf8.count : 0
        var bytes = Array("\(stamps.count)".utf8) + [0] + first.utf8.prefix(folder) + [0]
        let names = stamps.reduce(0) { $0 + $1.path.utf8.count - folder + 1 }
        bytes.reserveCapacity(bytes.count + names + 24 * stamps.count)
        for stamp in stamps {
            bytes += stamp.path.utf8.dropFirst(folder)
            bytes.append(0)
        }
        for stamp in stamps {
            for number in stamp.state.map({ [$0.size, $0.seconds, $0.nanoseconds] }) ?? [-1, 0, 0] {
                withUnsafeBytes(of: Int64(number)) { bytes += $0 }
            }
        }
        self.bytes = bytes
    }

    /// Without the times at which attributes changed.
    package var stamps: [InputStamp] {
        var rest = bytes[...]
        func text() -> String {
            let part = rest.prefix { $0 != 0 }
            rest = rest[part.endIndex...].dropFirst()
            return String(decoding: part, as: UTF8.self)
        }
        let (count, folder) = (Int(text()) ?? 0, text())
        let paths = (0..<count).map { _ in folder + text() }
        let numbers = rest.withUnsafeBytes { raw in
            (0..<3 * count).map { Int(raw.loadUnaligned(fromByteOffset: 8 * $0, as: Int64.self)) }
        }
        return paths.enumerated().map { place, path in
            let size = numbers[3 * place]
            let state = InputStamp.State(
                size: size,
                seconds: numbers[3 * place + 1],
                nanoseconds: numbers[3 * place + 2]
            )
            return InputStamp(path: path, state: size < 0 ? nil : state)
        }
    }
}

/// A source file has changed since discovery: its item has to be discovered again.
struct ChangedInput: CodedError, CustomStringConvertible {
    let path: String
    var faultCode: FaultCode { .changed }
    var description: String {
        InputStamp(path).size == nil
            ? "\(path) is gone since the batch began" : "\(path) was changed while the batch ran"
    }
}
