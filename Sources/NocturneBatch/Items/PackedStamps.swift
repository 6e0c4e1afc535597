import Foundation
import NocturneSystem

/// The stamps of an item's files in little memory: a series has hundreds of files, and a batch thousands of series. Some 15 bytes
/// for each file of a series, whose names and times differ little from one to the next.
package struct PackedStamps: Sendable, Hashable {
    /// The number of stamps; then for each how many bytes its path shares with the one before, the number and the bytes of the
    /// rest, which numbers it has, and these as differences from those before.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ stamps: [InputStamp]) {
        var packed = Packing()
        packed.append(count: stamps.count)
        for stamp in stamps { packed.append(stamp) }
        bytes = packed.bytes.withoutSpareCapacity
    }

    package var isEmpty: Bool { bytes.first == 0 }

    package var byteCount: Int { bytes.count }

    /// The bytes without the path of the first stamp, if that is the path given; nil if it is another.
    func bytes(withoutPath path: String) -> [UInt8]? {
        var rest = bytes[...]
        guard let count = rest.popNumber(), count > 0, rest.popFirst() == 0,
            let length = rest.popNumber(), length == path.utf8.count, rest.starts(with: path.utf8)
        else { return nil }
        var short: [UInt8] = []
        short.append(number: count)
        return short + rest.dropFirst(path.utf8.count)
    }

    /// - Parameter short: what ``bytes(withoutPath:)`` has given.
    init(_ short: ArraySlice<UInt8>, path: String) {
        var (rest, bytes) = (short, [UInt8]())
        bytes.reserveCapacity(short.count + path.utf8.count + 4)
        bytes.append(number: rest.popNumber() ?? 0)
        bytes.append(0)
        bytes.append(number: UInt64(path.utf8.count))
        bytes += path.utf8
        self.bytes = bytes + rest
    }

    package var stamps: [InputStamp] { unpacked ?? [] }

    /// As text, to be recorded: base64.
    package var recorded: String { Data(bytes).base64EncodedString() }

    /// - Returns: nil for a text that is not one of ``recorded``.
    package init?(recorded text: String) {
        guard let data = Data(base64Encoded: text) else { return nil }
        bytes = Array(data)
        guard unpacked != nil else { return nil }
    }

    /// Nil where the bytes are not those of stamps.
    private var unpacked: [InputStamp]? {
        var packed = Unpacking(rest: bytes[...])
        // A stamp takes three bytes at least.
        guard let count = packed.number(), (0...bytes.count / 3).contains(count) else { return nil }
        var stamps: [InputStamp] = []
        stamps.reserveCapacity(count)
        for _ in 0..<count {
            guard let stamp = packed.stamp() else { return nil }
            stamps.append(stamp)
        }
        return packed.rest.isEmpty ? stamps : nil
    }
}

/// What the next stamp is compared with.
private struct PreviousStamp {
    var path: [UInt8] = []
    var size = 0
    var seconds = 0
}

/// Which numbers a stamp has.
private struct PackedParts: OptionSet {
    let rawValue: UInt8
    static let state = PackedParts(rawValue: 1)
    static let touched = PackedParts(rawValue: 2)
}

private struct Packing {
    private(set) var bytes: [UInt8] = []
    private var previous = PreviousStamp()

    mutating func append(count: Int) { bytes.append(number: UInt64(count)) }

    mutating func append(_ stamp: InputStamp) {
        let path = Array(stamp.path.utf8)
        let shared = zip(path, previous.path).prefix { $0 == $1 }.count
        bytes.append(number: UInt64(shared))
        bytes.append(number: UInt64(path.count - shared))
        bytes += path[shared...]
        previous.path = path
        var parts: PackedParts = []
        if stamp.state != nil { parts.insert(.state) }
        if stamp.touchedSeconds != nil { parts.insert(.touched) }
        bytes.append(parts.rawValue)
        if let state = stamp.state {
            append(difference: state.size &- previous.size)
            append(difference: state.seconds &- previous.seconds)
            append(difference: state.nanoseconds)
            (previous.size, previous.seconds) = (state.size, state.seconds)
        }
        if let touched = stamp.touchedSeconds { append(difference: touched &- previous.seconds) }
    }

    /// Numbers around 0 are short, whatever their sign.
    private mutating func append(difference: Int) {
        bytes.append(number: UInt64(bitPattern: Int64((difference << 1) ^ (difference >> 63))))
    }
}

/// Reads what ``Packing`` has written; nil for anything else.
private struct Unpacking {
    private(set) var rest: ArraySlice<UInt8>
    private var previous = PreviousStamp()

    init(rest: ArraySlice<UInt8>) { self.rest = rest }

    mutating func stamp() -> InputStamp? {
        guard let shared = number(), (0...previous.path.count).contains(shared),
            let length = number(), (0...rest.count).contains(length)
        else { return nil }
        previous.path.removeSubrange(shared...)
        previous.path += rest.prefix(length)
        rest = rest.dropFirst(length)
        guard let raw = rest.popFirst() else { return nil }
        let parts = PackedParts(rawValue: raw)
        var state: InputStamp.State?
        if parts.contains(.state) {
            guard let size = difference(), let seconds = difference(), let nanoseconds = difference() else {
                return nil
            }
            previous.size &+= size
            previous.seconds &+= seconds
            state = InputStamp.State(size: previous.size, seconds: previous.seconds, nanoseconds: nanoseconds)
        }
        var touched: Int?
        if parts.contains(.touched) {
            guard let later = difference() else { return nil }
            touched = previous.seconds &+ later
        }
        return InputStamp(
            path: String(decoding: previous.path, as: UTF8.self),
            state: state,
            touchedSeconds: touched
        )
    }

    mutating func number() -> Int? { rest.popNumber().map { Int(truncatingIfNeeded: $0) } }

    private mutating func difference() -> Int? {
        rest.popNumber().map { Int(truncatingIfNeeded: Int64(bitPattern: $0 >> 1) ^ -Int64(bitPattern: $0 & 1)) }
    }
}
