package import Foundation

/// The fields of a message of Protocol Buffers, one by one (https://protobuf.dev/programming-guides/encoding). Groups, which the
/// third version of the language does not have, are refused.
///
/// The library SwiftProtobuf was used before: with the sources that it generates, it took a seventh of the first build, and it copies
/// all weights out of the mapped file before they are decoded.
package struct WireFields {
    /// The value of a field, as it is stored.
    package enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        /// A text, a message or a packed list: a part of the given bytes, not a copy.
        case bytes(Data)
        case fixed32(UInt32)
    }

    private let bytes: Data
    private var index: Int
    /// For messages.
    private let path: String

    /// - Parameter path: only for messages.
    package init(_ bytes: Data, path: String) {
        self.bytes = bytes
        self.path = path
        index = bytes.startIndex
    }

    private var damaged: ModelFormatError {
        .malformed(path: path, reason: "the protocol buffer is damaged or truncated")
    }

    /// The next field with its number; nil at the end.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` where the bytes end within a field.
    package mutating func next() throws(ModelFormatError) -> (number: UInt64, value: Value)? {
        guard index < bytes.endIndex else { return nil }
        let key = try varint()
        switch key & 7 {
        case 0: return (key >> 3, .varint(try varint()))
        case 1: return (key >> 3, .fixed64(try word()))
        case 2:
            let count = try varint()
            return (key >> 3, .bytes(try take(count)))
        case 5: return (key >> 3, .fixed32(try word()))
        default: throw damaged
        }
    }

    private mutating func varint() throws(ModelFormatError) -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard index < bytes.endIndex else { throw damaged }
            let byte = bytes[index]
            index += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
        }
        throw damaged
    }

    private mutating func word<Word: FixedWidthInteger & BitwiseCopyable>() throws(ModelFormatError) -> Word {
        let stored = try take(UInt64(MemoryLayout<Word>.size))
        return stored.withUnsafeBytes { Word(littleEndian: $0.loadUnaligned(as: Word.self)) }
    }

    private mutating func take(_ count: UInt64) throws(ModelFormatError) -> Data {
        guard count <= UInt64(bytes.endIndex - index) else { throw damaged }
        let start = index
        index += Int(count)
        return bytes[start..<index]
    }

    // MARK: Values

    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` for bytes that are not UTF-8.
    package func text(_ bytes: Data) throws(ModelFormatError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw damaged }
        return text
    }

    /// Adds what a field of a list of integers has: one of them, or several, packed.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` where the bytes end within an integer.
    package func append<Number: FixedWidthInteger>(_ value: Value, to list: inout [Number]) throws(ModelFormatError) {
        switch value {
        case .varint(let integer): list.append(Number(truncatingIfNeeded: integer))
        case .bytes(let packed):
            var packed = WireFields(packed, path: path)
            while packed.index < packed.bytes.endIndex { list.append(Number(truncatingIfNeeded: try packed.varint())) }
        case .fixed32, .fixed64: break
        }
    }

    /// Likewise for single precision.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` where the bytes end within a number.
    package func append(_ value: Value, to list: inout [Float]) throws(ModelFormatError) {
        if case .fixed32(let bits) = value { list.append(Float(bitPattern: bits)) }
        list += try packed(value)
    }

    /// Likewise for double precision.
    /// - Throws: ``ModelFormatError/malformed(path:reason:)`` where the bytes end within a number.
    package func append(_ value: Value, to list: inout [Double]) throws(ModelFormatError) {
        if case .fixed64(let bits) = value { list.append(Double(bitPattern: bits)) }
        list += try packed(value)
    }

    /// The numbers of a packed list; none of another value.
    private func packed<Number: BitwiseCopyable>(_ value: Value) throws(ModelFormatError) -> [Number] {
        guard case .bytes(let bytes) = value else { return [] }
        guard let numbers = Self.elements(of: bytes, Number.self) else { throw damaged }
        return numbers
    }

    /// Numbers that follow each other, in the order of bytes of this machine, which is that of the format; nil where the bytes end within
    /// one.
    static func elements<Element: BitwiseCopyable>(of bytes: Data, _ type: Element.Type) -> [Element]? {
        let (count, rest) = bytes.count.quotientAndRemainder(dividingBy: MemoryLayout<Element>.size)
        guard rest == 0 else { return nil }
        return [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
            _ = bytes.copyBytes(to: buffer)
            initialized = count
        }
    }
}
