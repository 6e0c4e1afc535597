/// A colour in eight-bit sRGB.
public struct LabelColor: Hashable, Sendable, CustomStringConvertible {
    /// 0 to 255, with the transfer curve of sRGB.
    public let red: UInt8
    /// 0 to 255, with the transfer curve of sRGB.
    public let green: UInt8
    /// 0 to 255, with the transfer curve of sRGB.
    public let blue: UInt8

    /// - Parameters:
    ///   - red: 0 to 255.
    ///   - green: 0 to 255.
    ///   - blue: 0 to 255.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Reads "#rrggbb"; nil for anything else.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 7, bytes[0] == UInt8(ascii: "#"),
            bytes[1...].allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let value = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        self.init(red: UInt8(value >> 16), green: UInt8(value >> 8 & 255), blue: UInt8(value & 255))
    }

    /// Red, green and blue.
    public var components: SIMD3<UInt8> { SIMD3(red, green, blue) }

    /// "#rrggbb" in lower case.
    public var description: String {
        let digits = String(UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue), radix: 16)
        return "#" + String(repeating: "0", count: 6 - digits.count) + digits
    }
}

/// A coded concept: what a label means, as a code of a coding scheme.
public struct CodedConcept: Hashable, Sendable, Codable {
    /// For instance "SCT" (SNOMED CT) or "DCM".
    public let scheme: String
    /// Unique within the scheme.
    public let value: String
    /// For people.
    public let meaning: String

    /// - Parameters:
    ///   - scheme: the designator of the coding scheme, for instance "SCT".
    ///   - value: the code, unique within the scheme.
    ///   - meaning: for people.
    public init(scheme: String, value: String, meaning: String) {
        self.scheme = scheme
        self.value = value
        self.meaning = meaning
    }
}
