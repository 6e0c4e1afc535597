internal import Glibc
public import NocturneCore
internal import NocturneSystem

extension CodedConcept {
    /// The category of organs and parts of organs (CID 7150).
    public static let anatomicalStructure = CodedConcept(
        scheme: "SCT",
        value: "123037004",
        meaning: "Anatomical Structure"
    )

    /// A private concept for something that has no code from a coding scheme. Its value is the name; a name of more than 16
    /// characters, the most that a value may have, is cut, and a part of its digest distinguishes it from others.
    ///
    /// Coding schemes whose names begin with 99 are private (PS3.3 8.2).
    public static func uncoded(_ name: String) -> CodedConcept {
        let isLong = name.unicodeScalars.count > 16
        let value =
            isLong ? dicomText(name, limit: 7) + "-" + ContentDigest.of(name).hex.prefix(8) : dicomText(name, limit: 16)
        return CodedConcept(scheme: "99NOCTURNE", value: value, meaning: name)
    }
}

/// A text as an element of an object can have it: the first `limit` characters, "_" instead of backslashes and control characters,
/// no spaces at the ends, never empty.
package func dicomText(_ text: String, limit: Int) -> String {
    let scalars = text.unicodeScalars.prefix(limit).map { scalar in
        scalar.value < 32 || (127..<160).contains(scalar.value) || scalar == "\\" ? "_" : scalar
    }
    let result = trimmed(Substring(String(String.UnicodeScalarView(scalars))))
    return result.isEmpty ? "_" : result
}

/// Segmentations store display colours as CIELab under D50, the profile connection space (PS3.3 C.10.7.1.1): L from 0 to
/// 100, a and b from -128 to 127, each scaled to 16 bits. The conversion is that of sRGB (IEC 61966-2-1), adapted from D65
/// to D50 by the Bradford method. Each of the 16.7 million colours is restored exactly from its 16-bit values.
extension LabelColor {
    /// The nearest colour of sRGB to L, a and b as 16-bit numbers.
    public init(cieLab lab: SIMD3<UInt16>) {
        let lightness = Double(lab.x) / 65535 * 100
        let f = (lightness + 16) / 116
        let x = Self.white.x * Self.cubed(f + (Double(lab.y) / 257 - 128) / 500)
        let y = Self.white.y * Self.cubed(f)
        let z = Self.white.z * Self.cubed(f - (Double(lab.z) / 257 - 128) / 200)
        func eight(_ linear: Double) -> UInt8 {
            let share = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055
            return UInt8(min(max((share * 255).rounded(), 0), 255))
        }
        self.init(
            red: eight(3.1338561 * x - 1.6168667 * y - 0.4906146 * z),
            green: eight(-0.9787684 * x + 1.9161415 * y + 0.0334540 * z),
            blue: eight(0.0719453 * x - 0.2289914 * y + 1.4052427 * z)
        )
    }

    /// L, a and b as 16-bit numbers.
    public var cieLab: SIMD3<UInt16> {
        func linear(_ eight: UInt8) -> Double {
            let share = Double(eight) / 255
            return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        let (r, g, b) = (linear(red), linear(green), linear(blue))
        let x = Self.rooted((0.4360747 * r + 0.3850649 * g + 0.1430804 * b) / Self.white.x)
        let y = Self.rooted((0.2225045 * r + 0.7168786 * g + 0.0606169 * b) / Self.white.y)
        let z = Self.rooted((0.0139322 * r + 0.0971045 * g + 0.7141733 * b) / Self.white.z)
        func sixteen(_ value: Double) -> UInt16 { UInt16(min(max(value.rounded(), 0), 65535)) }
        return SIMD3(
            sixteen((116 * y - 16) / 100 * 65535),
            sixteen((500 * (x - y) + 128) * 257),
            sixteen((200 * (y - z) + 128) * 257)
        )
    }

    private static let white = SIMD3(0.4360747 + 0.3850649 + 0.1430804, 1.0, 0.0139322 + 0.0971045 + 0.7141733)

    private static func rooted(_ t: Double) -> Double {
        t > 216.0 / 24389 ? cbrt(t) : (24389.0 / 27 * t + 16) / 116
    }

    private static func cubed(_ f: Double) -> Double {
        f > 6.0 / 29 ? f * f * f : (116 * f - 16) * 27 / 24389
    }
}
