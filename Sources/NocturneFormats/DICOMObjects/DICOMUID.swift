internal import NocturneCore
import NocturneSystem

/// Unique identifiers derived from content alone.
enum DICOMUID {
    /// "2.25." and a 128-bit number (PS3.5 B.2): the SHA-256 of the digest and the role, formatted as a UUID of version
    /// 8, the version for custom methods.
    ///
    /// The same fingerprint gives the same identifiers, so an object that is written again replaces the earlier one.
    static func derived(from fingerprint: ContentDigest, role: String) -> String {
        let hex = ContentDigest.of("nocturne \(role) \(fingerprint.hex)").hex
        var number = UInt128(hex.prefix(32), radix: 16) ?? 0
        number &= ~(UInt128(0xF) << 76) & ~(UInt128(0b11) << 62)
        number |= UInt128(8) << 76 | UInt128(0b10) << 62
        return "2.25.\(number)"
    }
}
