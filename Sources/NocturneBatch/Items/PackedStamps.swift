/// The stamps of an item's files in little memory: a series has hundreds of files, and a batch thousands of series. Some 15 bytes
/// for each file of a series, whose names and times differ little from one to the next.
package struct PackedStamps: Sendable, Hashable {
    /// The number of stamps; then for each how many bytes its path shares with the one before, the number and the bytes of the
    /// rest, which numbers it has, and these as differences from those before.
    let bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ stamps: [InputStamp]) {
        var packed = Packing()
        packed.append(UInt64(stamps.count))
        for stamp in stamps { packed.append(stamp) }
        bytes = packed.bytes.withoutSpareCapacity
    }

    package var isEmpty: Bool { bytes.first == 0 }

    package var byteCount: Int { bytes.count }

    package var stamps: [InputStamp] {
        var packed = Unpacking(rest: bytes[...])
        return (0..<packed.number()).map { _ in packed.stamp() }
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

    mutating func append(_ stamp: InputStamp) {
        let path = Array(stamp.path.utf8)
        let shared = zip(path, previous.path).prefix { $0 == $1 }.count
        append(UInt64(shared))
        append(UInt64(path.count - shared))
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

    /// Seven bits in a byte, the lowest first; all but the last have the highest bit set.
    mutating func append(_ number: UInt64) {
        var number = number
        while number > 127 {
            bytes.append(UInt8(number & 127) | 128)
            number >>= 7
        }
        bytes.append(UInt8(number))
    }

    /// Numbers around 0 are short, whatever their sign.
    private mutating func append(difference: Int) {
        append(UInt64(bitPattern: Int64((difference << 1) ^ (difference >> 63))))
    }
}

private struct Unpacking {
    var rest: ArraySlice<UInt8>
    private var previous = PreviousStamp()

    init(rest: ArraySlice<UInt8>) { self.rest = rest }

    mutating func stamp() -> InputStamp {
        let shared = number()
        let length = number()
        previous.path.removeSubrange(shared...)
        previous.path += rest.prefix(length)
        rest = rest.dropFirst(length)
        let parts = PackedParts(rawValue: rest.removeFirst())
        var state: InputStamp.State?
        if parts.contains(.state) {
            previous.size &+= difference()
            previous.seconds &+= difference()
            state = InputStamp.State(size: previous.size, seconds: previous.seconds, nanoseconds: difference())
        }
        return InputStamp(
            path: String(decoding: previous.path, as: UTF8.self),
            state: state,
            touchedSeconds: parts.contains(.touched) ? previous.seconds &+ difference() : nil
        )
    }

    mutating func number() -> Int { Int(truncatingIfNeeded: bits()) }

    private mutating func bits() -> UInt64 {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let byte = rest.removeFirst()
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return number }
            shift += 7
        }
    }

    private mutating func difference() -> Int {
        let bits = bits()
        return Int(truncatingIfNeeded: Int64(bitPattern: bits >> 1) ^ -Int64(bitPattern: bits & 1))
    }
}
