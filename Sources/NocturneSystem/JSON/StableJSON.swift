import Foundation

/// JSON as Nocturne writes it: sorted keys, readable, the same bytes for the same values.
public enum StableJSON {
    /// Ends with a line feed.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        Array(try encoder().encode(value)) + [10]
    }

    /// One object on one line, with a line feed.
    public static func encodeLine(_ value: some Encodable) throws -> [UInt8] {
        Array(try encoder([]).encode(value)) + [10]
    }

    /// One value on one line, without a line feed.
    package static func text(_ value: some Encodable) throws -> String {
        String(decoding: try encoder([]).encode(value), as: UTF8.self)
    }

    static func encoder(_ layout: JSONEncoder.OutputFormatting = .prettyPrinted) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = layout.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }
}

/// An optional that is written as null when there is nothing, instead of leaving out the key: "not measured", never 0.
@propertyWrapper
public struct Nullable<Value: Codable & Sendable>: Codable, Sendable {
    /// The value; nil is written as null.
    public var wrappedValue: Value?

    /// Wraps a value for a key that is always written: nil becomes null.
    public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

    /// Reads the value or null. A missing key is an error, unlike for an optional.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? nil : try container.decode(Value.self)
    }

    /// Writes the value or null, so that every object of a kind has the same keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let wrappedValue { try container.encode(wrappedValue) } else { try container.encodeNil() }
    }
}

extension Nullable: Equatable where Value: Equatable {}

extension StableJSON {
    /// An object one member of which is a long list, written in parts: together they are the bytes that ``StableJSON/encode(_:)``
    /// gives for the whole, which is never in memory.
    package struct List {
        /// The text before the first element.
        package let beginning: [UInt8]
        /// The text after the last element.
        package let end: [UInt8]
        private let encoder: JSONEncoder
        private var isEmpty = true

        /// - Parameters:
        ///   - document: the object, with an empty list.
        ///   - member: the name of the list in it.
        package init(_ document: some Encodable, list member: String) throws {
            encoder = StableJSON.encoder()
            let text = try StableJSON.encode(document)
            // A line break occurs between values only, and members of inner objects are indented further.
            let (head, tail) = ("\n  \"\(member)\" : [\n", "\n  ]")
            guard let place = text.firstRange(of: Array((head + tail).utf8)) else {
                preconditionFailure("the document has no empty list \(member)")
            }
            beginning = Array(text[..<(place.lowerBound + head.utf8.count)])
            end = Array(text[(place.lowerBound + head.utf8.count)...])
        }

        /// The text of the next elements.
        package mutating func part(_ elements: [some Encodable]) throws -> [UInt8] {
            guard !elements.isEmpty else { return [] }
            // "[\n  {…},\n  {…}\n]", in which every line is one level less indented than here.
            let list = try encoder.encode(elements)
            var text: [UInt8] = isEmpty ? [] : Array(",\n".utf8)
            isEmpty = false
            text.reserveCapacity(list.count + list.count / 8)
            var isLineStart = true
            for byte in list.dropFirst(2).dropLast(2) {
                // The line in an empty list has no indentation.
                if isLineStart, byte != 10 { text += [32, 32] }
                text.append(byte)
                isLineStart = byte == 10
            }
            return text
        }
    }
}
