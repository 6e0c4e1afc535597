import Foundation

/// A hash of a text in 64 bits (FNV-1a), the same in every process and for all Unicode forms of the text. Case counts.
package enum TextHash {
    package static func of(_ text: String) -> UInt64 {
        let isASCII = text.utf8.allSatisfy { $0 < 128 }
        let form = isASCII ? text : text.precomposedStringWithCanonicalMapping
        return form.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
