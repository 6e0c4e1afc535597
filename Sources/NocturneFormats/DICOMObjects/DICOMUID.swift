internal import NocturneCore
import NocturneSystem

/// Unique identifiers that follow from content alone.
enum DICOMUID {
    /// "2.25." and a 128-bit number (PS3.5 B.2): the SHA-256 of the digest and the role, with the bits of a UUID of
    /// version 8, which is for names made in a way of one's own.
    ///
    /// The same fingerprint gives the same identifiers, so that an object that is made again replaces itself.
    static func derived(from fingerprint: ContentDigest, role: String) -> String {
        let hex = ContentDigest.of("nocturne \(role) \(fingerprint.hex)").hex
        var number = UInt128(hex.prefix(32), radix: 16) ?? 0
        number &= ~(UInt128(0xF) << 76) & ~(UInt128(0b11) << 62)
        number |= UInt128(8) << 76 | UInt128(0b10) << 62
        return "2.25.\(number)"
    }
}
