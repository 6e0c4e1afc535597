/// Values of a few fields in one buffer, each with its length in front: for what there may be a million of.
package struct PackedFields: Sendable, Hashable {
    private var bytes: [UInt8]

    /// - Parameter fields: the bytes of each field, in their order.
    package init(_ fields: [[UInt8]]) {
        var bytes: [UInt8] = []
        // Lengths from 128 on take a byte more.
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.count + ($1.count < 128 ? 1 : 2) })
        for field in fields {
            bytes.append(number: UInt64(field.count))
            bytes += field
        }
        self.bytes = bytes
    }

    /// - Parameter packed: what ``packed`` has given.
    package init(packed: ArraySlice<UInt8>) { bytes = Array(packed) }

    package var packed: ArraySlice<UInt8> { bytes[...] }

    /// A list of texts; empty for none.
    package init(list texts: [String]) { self.init(texts.map { Array($0.utf8) }) }

    /// A field as a list of texts.
    package subscript(list place: Int) -> [String] {
        get {
            let field = self[place]
            return field.isEmpty ? [] : PackedFields(packed: field).texts
        }
        set { self[place] = PackedFields(list: newValue).packed }
    }

    /// All fields.
    package var fields: [ArraySlice<UInt8>] {
        var (rest, fields) = (bytes[...], [ArraySlice<UInt8>]())
        while let length = rest.popNumber() {
            fields.append(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
        }
        return fields
    }

    /// All fields as texts.
    package var texts: [String] { fields.map { String(decoding: $0, as: UTF8.self) } }

    /// - Parameter place: of the field; one that does not exist is empty.
    package subscript(place: Int) -> ArraySlice<UInt8> {
        get { bytes[range(place).value] }
        set {
            let (whole, _) = range(place)
            var new: [UInt8] = []
            new.reserveCapacity(bytes.count - whole.count + newValue.count + 2)
            new += bytes[..<whole.lowerBound]
            new.append(number: UInt64(newValue.count))
            new += newValue
            new += bytes[whole.upperBound...]
            bytes = new
        }
    }

    /// A field as a text.
    package subscript(text place: Int) -> String {
        get { String(decoding: self[place], as: UTF8.self) }
        set { self[place] = Array(newValue.utf8)[...] }
    }

    /// The bytes of a text that may begin or end with another one, which then is left out.
    package static func bytes(_ text: String, beside other: String) -> [UInt8] {
        let (whole, part) = (Array(text.utf8), Array(other.utf8))
        if whole.starts(with: part) { return [Self.begins] + whole.dropFirst(part.count) }
        if whole.suffix(part.count).elementsEqual(part) { return [Self.ends] + whole.dropLast(part.count) }
        return [0] + whole
    }

    /// A field that has the bytes of ``bytes(_:beside:)``.
    package subscript(text place: Int, beside other: String) -> String {
        get {
            let field = self[place]
            let own = String(decoding: field.dropFirst(), as: UTF8.self)
            return field.first == Self.begins ? other + own : field.first == Self.ends ? own + other : own
        }
        set { self[place] = Self.bytes(newValue, beside: other)[...] }
    }

    private static let (begins, ends): (UInt8, UInt8) = (1, 2)

    /// Where a field is, with its length in front, and its value alone.
    private func range(_ place: Int) -> (whole: Range<Int>, value: Range<Int>) {
        var start = 0
        for step in 0...place {
            var rest = bytes[start...]
            guard let length = rest.popNumber() else { break }
            let end = rest.startIndex + Int(length)
            if step == place { return (start..<end, rest.startIndex..<end) }
            start = end
        }
        return (bytes.endIndex..<bytes.endIndex, bytes.endIndex..<bytes.endIndex)
    }
}

extension [UInt8] {
    /// A copy that takes no more memory than its bytes.
    package var withoutSpareCapacity: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { target, count in
            _ = target.initialize(from: self)
            count = self.count
        }
    }

    /// Seven bits in a byte, the lowest first; all but the last have the highest bit set.
    package mutating func append(number: UInt64) {
        var number = number
        while number > 127 {
            append(UInt8(number & 127) | 128)
            number >>= 7
        }
        append(UInt8(number))
    }
}

extension ArraySlice<UInt8> {
    /// Takes away what `append(number:)` has written; nil for anything else.
    package mutating func popNumber() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = popFirst() else { return nil }
            number |= UInt64(byte & 127) << shift
            if byte < 128 { return number }
        }
        return nil
    }
}
