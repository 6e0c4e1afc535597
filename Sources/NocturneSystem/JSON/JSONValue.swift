import Foundation

/// A JSON document in memory.
package enum JSONValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The member of that name; nil where there is none, or where this is not an object.
    package subscript(_ key: String) -> JSONValue? {
        if case .object(let members) = self { members[key] } else { nil }
    }

    /// The text of a string; nil for every other value.
    package var text: String? { if case .string(let text) = self { text } else { nil } }
}

extension JSONValue {
    /// Reads a document strictly (RFC 8259): one value, UTF-8, no key twice.
    ///
    /// Safe for hostile text: nesting is limited, and no memory is taken for what is only claimed.
    /// - Complexity: linear.
    package init(parsing bytes: [UInt8]) throws(SyntaxError) {
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw SyntaxError(offset: 0, detail: "not UTF-8")
        }
        var parser = Parser(bytes: bytes)
        parser.passSpace()
        self = try parser.value(depth: 0)
        parser.passSpace()
        guard parser.place == bytes.count else { throw parser.fault("something after the value") }
    }
}

extension JSONValue: Codable {
    /// Reads any JSON value. Numbers become `Double`, so integers of more than 53 bits lose digits.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes the value as it is, with no wrapper around it.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONValue {
    /// Why a text is not a JSON document.
    package struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// In bytes from the start.
        package let offset: Int
        /// What was expected or is not allowed there.
        package let detail: String
        /// For people; without the text itself, which may have a patient's data.
        package var description: String { "not valid JSON: \(detail) at byte \(offset)" }
    }

    private struct Parser {
        let bytes: [UInt8]
        private(set) var place = 0

        // Each level is a call on the stack: without a limit a hostile text could overflow it.
        static let deepest = 128

        func fault(_ detail: String) -> SyntaxError { SyntaxError(offset: place, detail: detail) }

        private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

        mutating func passSpace() {
            while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { place += 1 }
        }

        private mutating func pass(_ byte: UInt8) throws(SyntaxError) {
            guard next == byte else {
                throw fault(next == nil ? "the text ends" : "no \(Character(UnicodeScalar(byte)))")
            }
            place += 1
        }

        private mutating func passed(_ byte: UInt8) -> Bool {
            guard next == byte else { return false }
            place += 1
            return true
        }

        private mutating func passed(word: StaticString) -> Bool {
            let isThere = word.withUTF8Buffer { bytes[place...].starts(with: $0) }
            if isThere { place += word.utf8CodeUnitCount }
            return isThere
        }

        mutating func value(depth: Int) throws(SyntaxError) -> JSONValue {
            guard depth < Self.deepest else { throw fault("nested more than \(Self.deepest) deep") }
            guard let first = next else { throw fault("the text ends") }
            switch first {
            case UInt8(ascii: "{"): return try object(depth)
            case UInt8(ascii: "["): return try array(depth)
            case UInt8(ascii: "\""): return .string(try string())
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
            default:
                if passed(word: "true") { return .boolean(true) }
                if passed(word: "false") { return .boolean(false) }
                if passed(word: "null") { return .null }
                throw fault("no value")
            }
        }

        private mutating func object(_ depth: Int) throws(SyntaxError) -> JSONValue {
            place += 1
            var members: [String: JSONValue] = [:]
            passSpace()
            if passed(UInt8(ascii: "}")) { return .object([:]) }
            repeat {
                passSpace()
                let key = try string()
                passSpace()
                try pass(UInt8(ascii: ":"))
                passSpace()
                let member = try value(depth: depth + 1)
                guard members.updateValue(member, forKey: key) == nil else {
                    throw fault("the key \(key.prefix(100)) twice")
                }
                passSpace()
            } while passed(UInt8(ascii: ","))
            try pass(UInt8(ascii: "}"))
            return .object(members)
        }

        private mutating func array(_ depth: Int) throws(SyntaxError) -> JSONValue {
            place += 1
            var elements: [JSONValue] = []
            passSpace()
            if passed(UInt8(ascii: "]")) { return .array([]) }
            repeat {
                passSpace()
                elements.append(try value(depth: depth + 1))
                passSpace()
            } while passed(UInt8(ascii: ","))
            try pass(UInt8(ascii: "]"))
            return .array(elements)
        }

        // The grammar of RFC 8259, section 6: `Double` alone also reads "inf" and "0x10".
        private mutating func number() throws(SyntaxError) -> Double {
            let start = place
            func isDigit(_ byte: UInt8?) -> Bool { byte.map { (48...57).contains($0) } ?? false }
            _ = passed(UInt8(ascii: "-"))
            if !passed(UInt8(ascii: "0")) {
                guard isDigit(next) else { throw fault("no number") }
                while isDigit(next) { place += 1 }
            }
            if passed(UInt8(ascii: ".")) {
                guard isDigit(next) else { throw fault("no digit after the point") }
                while isDigit(next) { place += 1 }
            }
            if passed(UInt8(ascii: "e")) || passed(UInt8(ascii: "E")) {
                if !passed(UInt8(ascii: "+")) { _ = passed(UInt8(ascii: "-")) }
                guard isDigit(next) else { throw fault("no digit in the exponent") }
                while isDigit(next) { place += 1 }
            }
            guard let number = Double(String(decoding: bytes[start..<place], as: UTF8.self)), number.isFinite else {
                throw fault("a number that is too large")
            }
            return number
        }

        private mutating func string() throws(SyntaxError) -> String {
            try pass(UInt8(ascii: "\""))
            var text: [UInt8] = []
            while let byte = next {
                place += 1
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"): text.append(contentsOf: try escape())
                case 0..<0x20: throw fault("a control character in a string")
                default: text.append(byte)
                }
            }
            throw fault("a string without an end")
        }

        private mutating func escape() throws(SyntaxError) -> [UInt8] {
            guard let byte = next else { throw fault("a string without an end") }
            place += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
            case UInt8(ascii: "b"): return [8]
            case UInt8(ascii: "f"): return [12]
            case UInt8(ascii: "n"): return [10]
            case UInt8(ascii: "r"): return [13]
            case UInt8(ascii: "t"): return [9]
            case UInt8(ascii: "u"):
                var units = [try hexadecimal()]
                // Characters above U+FFFF are written as two escapes (RFC 8259, section 7).
                if UTF16.isLeadSurrogate(units[0]), passed(UInt8(ascii: "\\")) {
                    try pass(UInt8(ascii: "u"))
                    units.append(try hexadecimal())
                }
                guard let text = String(validating: units, as: UTF16.self) else { throw fault("half a character") }
                return Array(text.utf8)
            default: throw fault("an unknown escape")
            }
        }

        private mutating func hexadecimal() throws(SyntaxError) -> UInt16 {
            guard place + 4 <= bytes.count,
                bytes[place..<place + 4].allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                let unit = UInt16(String(decoding: bytes[place..<place + 4], as: UTF8.self), radix: 16)
            else { throw fault("no four hexadecimal digits") }
            place += 4
            return unit
        }
    }
}
